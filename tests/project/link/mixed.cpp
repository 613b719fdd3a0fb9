// SPDX-License-Identifier: Apache-2.0
// Compiled several times by several compilers with several flags, each time as another function
// UNIT; and once without UNIT, as the program that compares their results.
#include <cstddef>
#include <cstdio>
#include <vector>

#if defined(UNIT)

#include <lowp/lowp.hpp>

#include <span>
#include <stdexcept>

namespace {

std::vector<float> numbers(std::size_t size, std::uint32_t seed) {
  std::vector<float> x(size);
  for (std::size_t i = 0; i < size; ++i) {
    auto const words = lowp::philox4x32({static_cast<std::uint32_t>(i), 0, 0, 0}, {seed, 0});
    // Any pattern now and then; else one near 1.
    std::uint32_t const bits = i % 8 == 0 ? words[0] : (words[0] & 0x83ffffffU) + 0x3c000000U;
    x[i] = __builtin_bit_cast(float, bits);
  }
  return x;
}

template <class T>
void append(std::vector<unsigned char>& to, T const* from, std::size_t count) {
  auto const* const bytes = reinterpret_cast<unsigned char const*>(from);
  to.insert(to.end(), bytes, bytes + count * sizeof(T));
}

}  // namespace

std::vector<unsigned char> UNIT();
std::vector<unsigned char> UNIT() {
  using namespace lowp;
  std::vector<unsigned char> result;
  auto const add = [&](auto const& range) { append(result, range.data(), range.size()); };
  std::vector<float> const x = numbers(1003, 1);
  std::vector<bfloat16> p(x.size());
  std::vector<float8_e4m3fn> m(x.size());
  cast(x, p);
  add(p);
  cast(x, m, stochastic{.seed = 2, .offset = 3});
  add(m);
  std::vector<float> v(x.size());
  cast(m, v);
  add(v);
  update_report report;
  fused_add(p, 0.3f, numbers(x.size(), 4), upward{}, report);
  add(p);
  for (float& each : v) each = 1;
  for (std::uint64_t step = 1; step < 4; ++step)
    update(p, numbers(x.size(), 5), m, v, adamw{.lr = 0.01}, step, stochastic{.seed = 6}, report);
  add(p);
  add(m);
  add(v);
  std::uint64_t const counts[] = {report.count, report.stalled, report.overflowed,
                                  report.nonfinite};
  append(result, counts, 4);
  for (float const each : x) {
    float16 const half = convert<float16>(each, to_odd{}) * float16(3);
    append(result, &half, 1);
  }
#if defined(__cpp_exceptions)  // a refused call throws, whatever the other units do
  try {
    cast(x, std::span(p).first(1));
  } catch (std::invalid_argument const&) {
    result.push_back(1);
  }
#else
  result.push_back(1);
#endif
  return result;
}

#else

#define X(unit) std::vector<unsigned char> unit();
UNITS
#undef X

int main() {
  struct {
    char const* name;
    std::vector<unsigned char> result;
  } const units[] = {
#define X(unit) {#unit, unit()},
      UNITS
#undef X
  };
  int different = 0;
  for (auto const& unit : units) {
    bool const same = unit.result == units[0].result;
    std::printf("%s: %zu bytes, %s\n", unit.name, unit.result.size(), same ? "same" : "different");
    different += !same;
  }
  return different;
}

#endif
