// SPDX-License-Identifier: Apache-2.0
// Compares what the recipes add with numbers that it computes otherwise.
#include <lowp/format/nearest_toward_zero.hpp>
#include <lowp/lowp.hpp>
#include <lowp/openmp.hpp>

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

using lowp::bfloat16;

int failures = 0;
void expect(bool holds, char const* what) {
  if (!holds) std::printf("wrong: %s\n", what), ++failures;
}

// A refused call's text.
template <class Fn>
std::string refusal_of(Fn const& fn) {
  try {
    fn();
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  return "not refused";
}

constexpr unsigned elements = 20000;  // more than one shard of a team

void check_format() {
  using T = lowp::float8_e3m4fn;
  for (unsigned code = 0; code < 128; ++code) {
    unsigned const e = code >> 4, m = code & 15;
    double const value = e == 0 ? std::ldexp(m, -6) : std::ldexp(16 + m, static_cast<int>(e) - 7);
    T const x = T::from_bits(static_cast<T::storage>(code));
    expect(code == 127 ? isnan(x) : float(x) == value, "a value of the format");
    if (code < 127) expect(T(value).bits() == code, "a code of the format");
  }
  expect(T(31).bits() == 0x7e, "the format's largest value");
}

void check_rounding() {
  // Quarters of an ulp above 1, and their negatives.
  std::vector<float> in(elements);
  for (unsigned i = 0; i < elements; ++i)
    in[i] = (i % 2 ? 1.0f : -1.0f) * (1 + float(i % 512) * 0x1p-9f);
  std::vector<bfloat16> out(elements);
  lowp::cast(in, out, lowp::nearest_toward_zero{});
  for (unsigned i = 0; i < elements; ++i) {
    unsigned const quarters = i % 512, magnitude = 0x3f80 + quarters / 4 + (quarters % 4 == 3);
    expect(out[i].bits() == (magnitude | (i % 2 ? 0 : 0x8000)), "the rounding of a span");
    expect(out[i] == lowp::convert<bfloat16>(in[i], lowp::nearest_toward_zero{}),
           "the rounding of a value");
  }
  lowp::rounding_mode const chosen = lowp::nearest_toward_zero{};
  expect(!chosen.inward(true), "the mode as one that is chosen at run time");
}

// To eight bits, ties to even, in integers.
unsigned rounded(unsigned n) {
  unsigned shift = 0;
  while (n >> shift > 255) ++shift;
  unsigned const unit = 1u << shift, rest = n % unit, low = n - rest;
  bool const up = 2 * rest > unit || (2 * rest == unit && low / unit % 2 == 1);
  return up ? low + unit : low;
}

void check_operation() {
  std::vector<bfloat16> a(elements), b(elements), out(elements), by_team(elements);
  for (unsigned i = 0; i < elements; ++i) a[i] = bfloat16(i % 256), b[i] = bfloat16(i % 251);
  lowp::product(a, b, out);
  lowp::openmp::product(a, b, by_team);
  for (unsigned i = 0; i < elements; ++i) {
    expect(float(out[i]) == float(rounded((i % 256) * (i % 251))), "the operation");
    expect(by_team[i] == out[i], "the operation on a team");
  }
  b.resize(3);
  std::string const text = "lowp::product: sizes differ: a has 20000, b has 3, out has 20000";
  expect(refusal_of([&] { lowp::product(a, b, out); }) == text, "a refused operation");
  expect(refusal_of([&] { lowp::openmp::product(a, b, out); }) == text, "a refusal of the team");
}

void check_optimizer() {
  lowp::signum const signum{.lr = .25, .momentum = .5};
  // (m + g) / 2 is negative, zero and positive.
  std::vector<float> const g{-2, -1, 2}, p_after{.75f, .5f, .25f}, m_after{-.5f, 0, 1.5f};
  std::vector<bfloat16> p(3, bfloat16(.5f)), m(3, bfloat16(1)), q = p, n = m;
  lowp::update(p, g, m, signum, 1);
  lowp::openmp::update(q, g, n, signum, 1);
  for (unsigned i = 0; i < 3; ++i) {
    expect(float(p[i]) == p_after[i] && q[i] == p[i], "the optimizer's parameter");
    expect(float(m[i]) == m_after[i] && n[i] == m[i], "the optimizer's moment");
  }
  expect(refusal_of([&] { lowp::update(p, g, m, lowp::signum{.lr = -1}, 1); }) ==
             "lowp::update: signum: lr is -1, not finite and at least 0",
         "a refused hyper-parameter");
}

void check_storage() {
  std::vector<lowp::float16> roots{lowp::float16(2), lowp::float16(2)}, others = roots;
  std::vector<float> const u{5, 3};
  lowp::fused_add(lowp::root{roots}, 1.0f, u);
  lowp::openmp::fused_add(lowp::root{others}, 1.0f, u);
  expect(float(roots[0]) == 3, "the storage, exact");
  expect(float(roots[1]) == 1355 * 0x1p-9f,
         "the storage, rounded");  // the root of 7 is 1354.6 * 2^-9
  expect(others == roots, "the storage on a team");
}

void check_backend() {
  std::vector<bfloat16> x(elements), y(elements);
  for (unsigned i = 0; i < elements; ++i) x[i] = bfloat16(i) / 7;
  std::vector<float> wide(elements);
  lowp::cast(x, wide);
  lowp::cast(wide, y);
  expect(x == y, "a cast there and back");
}

int main() {
  check_format();
  check_rounding();
  check_operation();
  check_optimizer();
  check_storage();
  check_backend();
  std::printf("%s %d\n", lowp::isa().data(), failures);
}
