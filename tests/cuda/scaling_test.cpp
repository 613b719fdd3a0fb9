// SPDX-License-Identifier: Apache-2.0
// clamp_overflow and scale_by_power_of_two by the GPU's kernel: the bits and the counts of the
// host.
#include <lowp/nn.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "simulated_grid.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// body(size, threads, where)
template <class Body>
void for_each_grid(Body const& body) {
  for (std::size_t const size : {0U, 1U, 7U, 8U, 65U, 1001U})
    for (unsigned const threads : {1U, 8U}) {
      SCOPED_TRACE(std::to_string(size) + " elements, " + std::to_string(threads) + " threads");
      simulated_grid grid(threads, 3);
      body(size, lowp::cuda::on_grid<simulated_grid>{grid});
    }
}

template <lowp::element T>
void expect_clamped() {
  for (values const kind : {values::corners, values::training})
    for_each_grid([&](std::size_t size, auto const& executor) {
      guarded<T> x(random_tensor<T>(size, size, kind), 0);
      std::vector<T> want(x.span().begin(), x.span().end());
      std::vector<T> got = want;
      lowp::clamp_report const clamped = lowp::clamp_overflow(want);
      lowp::clamp_report_of<T> report;
      ASSERT_EQ(refusal_of<lowp::detail::clamp_overflow_operation>(executor, got, report), "");
      EXPECT_TRUE(same_bits(got, want));
      EXPECT_EQ(report.count, size);
      EXPECT_EQ(report.clamped(), clamped.clamped());
      EXPECT_EQ(report.nan, clamped.nan);
    });
}

TEST(cuda_clamp_overflow, changes_no_nan_if_there_is_no_infinity) {
  std::vector<lowp::float16> x;
  for (unsigned const code : {0x7d01U, 0xfe03U, 0x7bffU, 0x0001U})
    x.push_back(lowp::float16::from_bits(static_cast<std::uint16_t>(code)));
  std::vector<lowp::float16> got = x;
  lowp::clamp_report_of<lowp::float16> report;
  simulated_grid grid(8);
  lowp::cuda::on_grid<simulated_grid> const executor{grid};
  ASSERT_EQ(refusal_of<lowp::detail::clamp_overflow_operation>(executor, got, report), "");
  EXPECT_TRUE(same_bits(got, x));
  EXPECT_EQ(report.nan, 2U);
}
TEST(cuda_clamp_overflow, of_float16) { expect_clamped<lowp::float16>(); }
TEST(cuda_clamp_overflow, of_floats) { expect_clamped<float>(); }

template <lowp::element From, lowp::element To>
void expect_scaled() {
  for (int const k : {-12, 0, 5})
    for_each_grid([&](std::size_t size, auto const& executor) {
      guarded<From> x(random_tensor<From>(size, size, values::corners), 1);
      std::vector<To> want(size);
      std::vector<To> got(size);
      lowp::scaling_report host;
      lowp::scaling_report report;
      lowp::scale_by_power_of_two(x.span(), want, k, host);
      ASSERT_EQ(refusal_of<lowp::detail::scale_by_power_of_two_operation>(executor, x.span(), got,
                                                                          k, report),
                "");
      EXPECT_TRUE(same_bits(got, want));
      EXPECT_EQ(std::memcmp(&report, &host, sizeof report), 0);
      got.assign(size, To(1));
      ASSERT_EQ(
          refusal_of<lowp::detail::scale_by_power_of_two_operation>(executor, x.span(), got, k),
          "");
      EXPECT_TRUE(same_bits(got, want));
    });
}

TEST(cuda_power_of_two_scaling, there) { expect_scaled<float, lowp::float16>(); }
TEST(cuda_power_of_two_scaling, and_back) { expect_scaled<lowp::float16, float>(); }

}  // namespace
