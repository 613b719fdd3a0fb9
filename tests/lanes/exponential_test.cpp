// SPDX-License-Identifier: Apache-2.0
// exp and log on a sample of all floats: a different one in every stretch. exhaustive/ has all of
// them.
#include "support/exponentials.hpp"

#include <random>

namespace {

using namespace lowp_test;

constexpr std::uint32_t stretch = 1U << 16;

std::vector<std::uint32_t> sample_of(std::uint32_t first, std::mt19937& random) {
  std::vector<std::uint32_t> patterns{first, first + 1, first + stretch - 1};
  for (int i = 0; i < 61; ++i) patterns.push_back(first + random() % stretch);
  return patterns;
}

template <class Operation>
void check_sample() {
  std::mt19937 random(5);
  for (std::uint32_t i = 0; i < 65536; ++i)
    ASSERT_TRUE(is_close_everywhere<Operation>(sample_of(i * stretch, random)));
}

TEST(exponential, exp_is_close_and_has_the_same_bits_everywhere) { check_sample<exp_operation>(); }
TEST(exponential, exp_of_minus_is_close_and_has_the_same_bits_everywhere) {
  check_sample<exp_of_minus_operation>();
}
TEST(exponential, log_is_close_and_has_the_same_bits_everywhere) { check_sample<log_operation>(); }

// FNV-1a of results for magnitudes from 2^-10 to 2^7. Their bound allows other bits; a model that
// is read by another version does not.
template <class Operation>
std::uint64_t hash_of_sample() {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (std::uint32_t x = 0x3a800000U; x < 0x43000000U; x += 1021)
    for (std::uint32_t const sign : {0U, 0x80000000U})
      if (Operation::takes(x | sign))
        hash = (hash ^ Operation::template on<float>(x | sign, 0, 0)) * 0x100000001b3U;
  return hash;
}
TEST(exponential, bits_are_those_of_every_version) {
  EXPECT_EQ(hash_of_sample<exp_operation>(), 0xfcfae724e9e656fbU);
  EXPECT_EQ(hash_of_sample<exp_of_minus_operation>(), 0x4486dcfa2ed6b686U);
  EXPECT_EQ(hash_of_sample<log_operation>(), 0x697b2d3f249d49fU);
}

// The arguments around which exp over- or underflows.
TEST(exponential, exp_at_the_borders) {
  std::vector<std::uint32_t> patterns{0, 0x80000000U, 0x7f800000U, 0xff800000U};
  for (float const x : {88.72284f, -87.33655f, -103.97208f, -103.27893f, 104.0f, -104.0f, 1e30f}) {
    for (std::uint32_t d = 0; d < 64; ++d) patterns.push_back(float_bits(x) + d - 32);
  }
  EXPECT_TRUE(is_close_everywhere<exp_operation>(patterns));
}

template <class Isa>
class exponential_on : public on_backend<Isa> {};
TYPED_TEST_SUITE(exponential_on, backends, by_backend);

TYPED_TEST(exponential_on, nan_stays_nan) {
  operands in;
  for (std::uint32_t bit = 1; bit < 0x00800000U; bit *= 2)
    for (std::uint32_t const nan : {0x7f800000U, 0xff800000U}) {
      in.add(nan | bit, 0, 0);
      in.add(nan | bit | 0x00400000U, 0, 0);
      in.add(nan | (0x007fffffU ^ bit), 0, 0);
    }
  while (in.size() % 16 != 0) in.add(0x7fc00000U, 0, 0);
  for (std::uint32_t const each : on_packs<TypeParam, exp_of_minus_operation>(in))
    EXPECT_TRUE(std::isnan(float_of(each)));
  for (std::uint32_t const each : in.a)
    EXPECT_TRUE(std::isnan(float_of(exp_of_minus_operation::on<float>(each, 0, 0))));
}

// A scalar computes as its caller's flags say, here with the C library's fma.
template <class Operation>
void check_scalar() {
  std::mt19937 random(6);
  for (std::uint32_t i = 0; i < 65536; i += 16) {
    operands in;
    in.a = sample_of(i * stretch, random);
    in.b = in.c = in.a;
    auto const packs = on_packs<lowp::simd::portable, Operation>(in);
    for (std::size_t k = 0; k < packs.size(); ++k) {
      if (!Operation::takes(in.a[k])) continue;
      float const x = float_of(in.a[k]);
      std::uint32_t const scalar = Operation::template on<float>(in.a[k], 0, 0);
      ASSERT_TRUE(has_bits(float_of(scalar), packs[k], x));
    }
  }
}

TEST(exponential, of_a_scalar_is_that_of_a_pack) {
  check_scalar<exp_operation>();
  check_scalar<exp_of_minus_operation>();
  check_scalar<log_operation>();
}

}  // namespace
