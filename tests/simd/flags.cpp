// SPDX-License-Identifier: Apache-2.0
// For dispatch_test.cmake: a unit with one call, which says what runs or why nothing does.
#include <lowp/cast.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#if defined(ELSEWHERE)
namespace {
using lowp::simd::access;
template <access A, class S>
using role = lowp::detail::role<A, S, lowp::nearest_even>;
using call = decltype(lowp::detail::call_of(
    lowp::detail::make<lowp::detail::identity>{}, lowp::detail::no_report,
    std::declval<role<access::write, std::vector<lowp::bfloat16>>>(),
    std::declval<role<access::read, std::vector<float>>>()));
}  // namespace
extern template void lowp::simd::this_thread::operator()<lowp::simd::native>(call const&) const;
#endif

int main() {
  std::vector<float> const x(100, 1.7f);
  std::vector<lowp::bfloat16> y(x.size());
  try {
    lowp::cast(x, y);
    std::printf("%s", y[99].bits() == 0x3fda ? std::string(lowp::isa()).c_str() : "wrong");
  } catch (std::runtime_error const& error) {
    std::printf("%s", error.what());
  }
}
