// SPDX-License-Identifier: Apache-2.0
// Random bits in the packs of every backend, beginning at any element.
#include <gtest/gtest.h>
#include <lowp/simd/dispatch.hpp>
#include <lowp/simd/random.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "oracle/philox.hpp"
#include "support.hpp"

namespace {

using namespace lowp_test;

constexpr std::size_t count = 5 << 10;  // more than the groups that have their keys at once

template <class R>
struct batches_kernel {
  lowp::random_source source;
  std::uint64_t index;
  std::uint16_t* out;

  template <class Isa>
  LOWP_HOST_FN void body() const {
    using registers = typename Isa::registers;
    lowp::simd::random_batches<registers, R> batches;
    batches.start(source, index);
    constexpr std::size_t step = lowp::simd::batch<registers>;
    static_assert(count % step == 0);
    for (std::size_t i = 0; i < count; i += step)
      __builtin_memcpy(out + i, batches.next(), 2 * step);
  }
};

template <class Isa>
class random_batches : public on_backend<Isa> {};
TYPED_TEST_SUITE(random_batches, backends, by_backend);

// By the generator's own code, and by the code that learns the generator at run time.
TYPED_TEST(random_batches, are_a_function_of_the_element_number) {
  std::vector<std::uint64_t> indices;
  for (std::uint64_t i = 0; i <= 130; ++i) indices.push_back(i);
  for (std::uint64_t const border :
       {std::uint64_t{1} << 35, std::uint64_t{1} << 36, std::uint64_t{1} << 63, std::uint64_t{0}})
    for (std::uint64_t const before : {1U, 5U, 8U, 31U, 32U, 127U, 128U, 200U, 1000U})
      indices.push_back(border - before);  // carries into the next word; past 2^64 to 0

  for (std::uint64_t const seed : {std::uint64_t{0}, std::uint64_t{0xfedcba9876543210}})
    for (std::uint64_t const stream : {std::uint64_t{0}, std::uint64_t{0x0123456789abcdef}})
      for (std::uint32_t const draw : {0U, 1U, 2U})
        for (std::uint64_t const index : indices) {
          std::vector<std::uint16_t> bits(count);
          for (bool const is_keyed : {false, true})
            for (bool const is_known : {false, true}) {
              lowp::random_source const source{seed, stream, draw, is_keyed};
              auto const run = [&]<class R>(R) {
                TypeParam::enter(batches_kernel<R>{source, index, bits.data()});
              };
              if (!is_known)
                run(lowp::rounding_mode());
              else if (is_keyed)
                run(lowp::stochastic_fast{});
              else
                run(lowp::stochastic{});
              for (std::size_t i = 0; i < count; i += index < 130 ? 41 : 7)
                ASSERT_EQ(bits[i], oracle::random16(seed, stream, index + i, draw,
                                                    is_keyed ? oracle::generator::keyed
                                                             : oracle::generator::philox))
                    << "seed " << seed << ", stream " << stream << ", draw " << draw << ", element "
                    << index << " + " << i << (is_keyed ? ", keyed" : "");
            }
        }
}

// Operands share the start of a batch if they draw from the same seed, stream and element.
struct shared_start_kernel {
  lowp::random_source first, second;
  std::uint64_t first_index, index;
  std::uint16_t* out;

  template <class Isa>
  LOWP_HOST_FN void body() const {
    using registers = typename Isa::registers;
    lowp::simd::random_batches<registers, lowp::stochastic> before, now;
    before.start(first, first_index);
    now.start(second, index);
    lowp::simd::batch_start<registers> start;
    static_cast<void>(before.next(std::move(start)));
    __builtin_memcpy(out, now.next(std::move(start)), 2 * lowp::simd::batch<registers>);
  }
};

TYPED_TEST(random_batches, share_a_start_only_if_it_is_theirs) {
  std::array<lowp::random_source, 4> const sources{{{0, 0, 1}, {5, 0, 1}, {0, 7, 1}, {5, 7, 1}}};
  for (auto const& first : sources)
    for (auto const& second : sources)
      for (std::uint64_t const first_index : {0U, 1024U})
        for (std::uint64_t const index : {0U, 1024U}) {
          std::vector<std::uint16_t> bits(count);
          TypeParam::enter(shared_start_kernel{first, second, first_index, index, bits.data()});
          for (std::size_t i = 0; i < lowp::simd::batch<typename TypeParam::registers>; ++i)
            ASSERT_EQ(bits[i], oracle::random16(second.seed, second.stream, index + i, 1))
                << "seed " << second.seed << ", stream " << second.stream << ", element " << index
                << " + " << i << ", after seed " << first.seed << ", stream " << first.stream;
        }
}

// The same numbers one element at a time.
TEST(random_source, is_philox_of_the_element_number) {
  for (std::uint64_t const index : {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{8},
                                    (std::uint64_t{1} << 35) - 1, ~std::uint64_t{0}})
    for (std::uint32_t const draw : {0U, 1U, 2U})
      EXPECT_EQ((lowp::random_source{3, 4, draw}(index)), oracle::random16(3, 4, index, draw));
}

}  // namespace
