// SPDX-License-Identifier: Apache-2.0
// The GPU's kernel over rows, without a GPU, in the blocks of 256 threads that a GPU has. It has
// the bits of the processor's loop, and a bound on what it reads and writes.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "simulated_grid.hpp"
#include "support/row_support.hpp"

namespace {

using namespace lowp_test;

using in_rows = lowp::simd::row_operand<lowp::simd::operand<float, lowp::simd::access::read>>;
using to_rows = lowp::simd::row_operand<lowp::simd::operand<float, lowp::simd::access::write>>;

template <class Pair>
class block_rows : public testing::Test {};
using pairs = first_or_all<
    1, testing::Types<in_and_out<lowp::bfloat16, lowp::bfloat16>, in_and_out<float, float>>>;
TYPED_TEST_SUITE(block_rows, pairs);

TYPED_TEST(block_rows, a_row_for_each_warp_of_a_block) {
  using In = typename TypeParam::in;
  using Out = typename TypeParam::out;
  // A longer row of 16 bits is kept in its own type.
  for (std::size_t const columns : {255U, 256U, 257U, 1025U, 2048U, 2049U, 3001U, 4096U}) {
    if (columns > 2048 && sizeof(In) == 4) continue;
    constexpr std::size_t rows = 19;  // two blocks and three warps
    std::mt19937 random(static_cast<unsigned>(columns));
    std::vector<In> in;
    for (std::size_t r = 0; r < rows; ++r) hard::append_row(in, columns, r % hard::kinds, random);
    std::vector<Out> want(in.size());
    std::vector<Out> got(in.size());
    lowp::softmax(in, want, columns);
    simulated_grid grid(256, 2);
    ASSERT_EQ(refusal_of<lowp::detail::softmax_operation>(lowp::cuda::on_grid<simulated_grid>{grid},
                                                          in, got, columns),
              "");
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_TRUE(has_bits(got[i], code_of(want[i]), i / columns, i % columns, columns));
    EXPECT_EQ(grid.team_threads, 32U);
    bool const is_short = columns == 256 && sizeof(In) == 2;  // it stays in registers
    std::size_t const room = is_short ? 0 : (columns + 255) / 256 * 256;
    EXPECT_EQ(grid.dynamic_bytes, 8 * room * (columns > 2048 ? sizeof(In) : sizeof(float)));
    EXPECT_EQ(grid.bytes_read, in.size() * sizeof(In));
    EXPECT_EQ(grid.bytes_written, in.size() * sizeof(Out));
  }
}

// Rows of a block, which are kept as floats or, where these do not fit, in their own type; and rows
// that are read anew, because the device has no room for them.
constexpr std::size_t of_a_block[] = {4097, 8191, 8192, 8193};
constexpr std::size_t kept_bytes = std::size_t{80} << 10;
constexpr std::size_t longer_than_floats = kept_bytes / sizeof(float) + 3;
constexpr std::size_t longer_than_bfloat16 = kept_bytes / sizeof(lowp::bfloat16) + 3;

// Runs 6 rows; `operands` with this many bytes an element are read.
template <class In, class Out, class Call>
void expect_same_in_blocks(std::size_t columns, std::size_t most_shared_bytes, std::size_t operands,
                           std::size_t operand_bytes, Call const& call,
                           std::size_t shared_bytes_alone = 0) {
  constexpr std::size_t rows = 6;
  std::mt19937 random(static_cast<unsigned>(columns));
  std::vector<In> in;
  for (std::size_t r = 0; r < rows; ++r) hard::append_row(in, columns, r + 2, random);
  std::vector<Out> want(in.size());
  std::vector<Out> got(in.size());
  ASSERT_EQ(call(lowp::simd::this_thread{}, in, want), "");
  simulated_grid grid(256, 4);
  grid.most_shared_bytes = most_shared_bytes;
  grid.shared_bytes_alone = shared_bytes_alone;
  ASSERT_EQ(call(lowp::cuda::on_grid<simulated_grid>{grid}, in, got), "");
  for (std::size_t i = 0; i < want.size(); ++i)
    ASSERT_TRUE(has_bits(got[i], code_of(want[i]), i / columns, i % columns, columns));
  EXPECT_EQ(grid.team_threads, 256U);
  // Rows of 16 bits are kept as they lie in aligned chunks.
  bool const is_shifted = columns % 8 != 0 && sizeof(Out) == 2 && operand_bytes == 2 * operands;
  std::size_t const room = (columns + 2047) / 2048 * 2048 + (is_shifted ? 64 : 0);
  std::size_t const floats = room * sizeof(float) * operands, own = room * operand_bytes;
  std::size_t const kept = floats <= most_shared_bytes    ? floats
                           : own <= most_shared_bytes     ? own
                           : floats <= shared_bytes_alone ? floats
                           : own <= shared_bytes_alone    ? own
                                                          : 0;
  EXPECT_EQ(grid.bytes_written, rows * columns * sizeof(Out));
  EXPECT_EQ(grid.dynamic_bytes, kept) << columns;
  EXPECT_EQ(grid.bytes_read, (kept != 0 ? 1 : 3) * rows * columns * operand_bytes) << columns;
}

TYPED_TEST(block_rows, a_row_for_a_block) {
  auto const check = [](std::size_t columns, std::size_t most_shared_bytes,
                        std::size_t shared_bytes_alone = 0) {
    expect_same_in_blocks<typename TypeParam::in, typename TypeParam::out>(
        columns, most_shared_bytes, 1, sizeof(typename TypeParam::in),
        [=](auto const& executor, auto const& in, auto& out) {
          return refusal_of<lowp::detail::softmax_operation>(executor, in, out, columns);
        },
        shared_bytes_alone);
  };
  for (std::size_t const columns : of_a_block) check(columns, kept_bytes);
  check(1025, 0);
  check(8192, 0);
  for (std::size_t const alone : {std::size_t{0}, kept_bytes}) check(8192, kept_bytes / 4, alone);
  check(longer_than_floats, kept_bytes);
  check(longer_than_bfloat16, kept_bytes);
  for (std::size_t const alone : {20U << 10, 40U << 10}) check(8191, 1, alone);
}

TEST(block_rows_with, masked) {
  for (std::size_t const columns : {2800U, 4100U}) {
    std::mt19937 random(4);
    std::vector<std::uint8_t> flags(3 * columns);
    for (auto& each : flags) each = static_cast<std::uint8_t>(random() % 3 * 0x7f);
    std::vector<lowp::bfloat16> bias(3 * columns);
    for (auto& each : bias) each = lowp::bfloat16(static_cast<float>(random() % 9) / -4);
    for (std::size_t const most_shared_bytes : {kept_bytes, kept_bytes / 3, std::size_t{0}}) {
      expect_same_in_blocks<lowp::float16, lowp::float16>(
          columns, most_shared_bytes, 2, 3, [&](auto const& executor, auto const& in, auto& out) {
            return refusal_of<lowp::detail::scale_mask_softmax_operation>(
                executor, in, lowp::attention_mask<std::uint8_t>{flags, 3, 2}, out, columns, 0.3f);
          });
      expect_same_in_blocks<lowp::bfloat16, float>(
          columns, most_shared_bytes, 2, 4, [&](auto const& executor, auto const& in, auto& out) {
            return refusal_of<lowp::detail::scale_mask_softmax_operation>(executor, in, bias, out,
                                                                          columns, 0.3f);
          });
    }
  }
}

// Columns that a query does not see are not read. The first six of a sequence see one column, two
// and more.
TEST(block_rows_with, causal) {
  constexpr std::size_t columns = 3072;
  std::vector<float> in(6 * columns);
  std::mt19937 random(4);
  for (float& each : in) each = static_cast<float>(random() % 1000) / 100;
  std::vector<float> want(in.size());
  std::vector<float> got(in.size());
  for (std::size_t const most_shared_bytes : {kept_bytes, std::size_t{0}}) {
    simulated_grid grid(256, 4);
    grid.most_shared_bytes = most_shared_bytes;
    auto const executor = lowp::cuda::on_grid<simulated_grid>{grid};
    auto const run = [&](auto const& on, auto& out) {
      lowp::detail::causal_rows rows{{{0.5f}}, columns};
      on(lowp::simd::row_call<lowp::detail::causal_rows, to_rows, lowp::simd::tuple<in_rows>>{
          rows, 0, 6, columns, {{out.data()}, columns}, {{in_rows{{in.data()}, columns}}}});
    };
    run(lowp::simd::this_thread{}, want);
    run(executor, got);
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_TRUE(has_bits(got[i], code_of(want[i]), i));
    EXPECT_EQ(grid.team_threads, 256U);
    std::uint64_t const seen = 1 + 2 + 3 + 4 + 5 + 6;
    if (most_shared_bytes != 0) {
      EXPECT_EQ(grid.bytes_read, seen * sizeof(float));
    }
  }
}

// Rows that begin at the same place of 16 bytes move in aligned chunks, others by elements. No byte
// outside the tensors is read or written.
TEST(block_rows_with, odd_columns_from_any_place) {
  using lowp::bfloat16;
  struct places {
    std::size_t of_in, of_out;
  };
  for (std::size_t const columns : {4097U, 4100U, 8191U}) {
    for (auto const& [of_in, of_out] : {places{0, 0}, {1, 1}, {7, 7}, {1, 0}, {2, 3}}) {
      constexpr std::size_t rows = 3;
      std::size_t const size = rows * columns;
      std::mt19937 random(static_cast<unsigned>(columns));
      std::vector<bfloat16> x;
      for (std::size_t r = 0; r < rows; ++r) hard::append_row(x, columns, r + 2, random);
      std::vector<bfloat16> want(size);
      std::vector<bfloat16> in(size + 16, bfloat16(NAN));
      std::copy(x.begin(), x.end(), in.begin() + static_cast<std::ptrdiff_t>(of_in));
      auto const expect = [&](std::size_t reads, auto const& run, bool is_in_place) {
        std::vector<bfloat16> got(size + 16, bfloat16(-5.0f));
        std::vector<bfloat16>& target = is_in_place ? in : got;
        std::size_t const first = is_in_place ? of_in : of_out;
        std::vector<bfloat16> const before = target;
        ASSERT_EQ(run(lowp::simd::this_thread{}, std::span<bfloat16 const>(x), std::span(want)),
                  "");
        simulated_grid grid(256, 2);
        grid.most_shared_bytes = kept_bytes;
        ASSERT_EQ(run(lowp::cuda::on_grid<simulated_grid>{grid},
                      std::span<bfloat16 const>(in).subspan(of_in, size),
                      std::span(target).subspan(first, size)),
                  "");
        for (std::size_t i = 0; i < size; ++i)
          ASSERT_TRUE(has_bits(target[first + i], code_of(want[i]), of_in, i % columns, columns));
        for (std::size_t i = 0; i < target.size(); ++i)
          if (i - first >= size) {
            ASSERT_TRUE(has_bits(target[i], code_of(before[i]), i));
          }
        EXPECT_EQ(grid.bytes_read, reads * size * sizeof(bfloat16));
        EXPECT_EQ(grid.bytes_written, size * sizeof(bfloat16));
        // A row that is kept as it lies in chunks has room before it.
        EXPECT_EQ(grid.dynamic_bytes % 2048 != 0, of_in == first);
      };
      expect(
          2,
          [=](auto const& on, auto const& y, auto const& out) {
            return refusal_of<lowp::detail::softmax_backward_operation>(on, y, y, out, columns);
          },
          false);
      for (bool const is_in_place : {false, true})
        expect(
            1,
            [=](auto const& on, auto const& y, auto const& out) {
              return refusal_of<lowp::detail::softmax_operation>(on, y, out, columns);
            },
            is_in_place);
    }
  }
}

TEST(block_rows_with, log_softmax) {
  for (std::size_t const most_shared_bytes : {kept_bytes, kept_bytes / 4, std::size_t{0}})
    expect_same_in_blocks<lowp::bfloat16, float>(
        4500, most_shared_bytes, 1, 2, [](auto const& executor, auto const& in, auto& out) {
          return refusal_of<lowp::detail::log_softmax_operation>(executor, in, out, 4500);
        });
}

// The first fold is an ordered one, and the only one.
struct shares {
  using folds = std::tuple<lowp::fold::sum>;
  template <class F>
  struct state {
    F total;
  };
  template <class State, class F>
  LOWP_HOST_DEVICE F value(lowp::fold::number<0>, State const&, F const& x) const {
    return lowp::lanes::add(x, x);
  }
  template <class F>
  LOWP_HOST_DEVICE F term(lowp::fold::number<0>, F const& value) const {
    return value;
  }
  template <class F>
  LOWP_HOST_DEVICE void take_total(lowp::fold::number<0>, state<F>& s, F const& sum) const {
    s.total = sum;
  }
  template <class F>
  LOWP_HOST_DEVICE F result(state<F> const& s, F const& value) const {
    return lowp::lanes::sub(value, s.total);
  }
};
// The first is unordered, and the only one.
struct distances : shares {
  using folds = std::tuple<lowp::fold::maximum>;
};

template <class Operation>
void expect_same_of_one_fold() {
  for (std::size_t const columns : {300U, 1900U}) {
    std::mt19937 random(static_cast<unsigned>(columns));
    std::vector<float> in;
    for (std::size_t r = 0; r < 3; ++r) hard::append_row(in, columns, 4, random);
    std::vector<float> want(in.size());
    std::vector<float> got(in.size());
    for (std::size_t const most_shared_bytes : {kept_bytes, std::size_t{0}}) {
      simulated_grid grid(256);
      grid.most_shared_bytes = most_shared_bytes;
      auto const run = [&](auto const& executor, auto& out) {
        lowp::detail::run_rows(executor, "shares", Operation{},
                               lowp::detail::read_rows("in", in, columns),
                               lowp::detail::write_rows("out", out, columns));
      };
      run(lowp::simd::this_thread{}, want);
      run(lowp::cuda::on_grid<simulated_grid>{grid}, got);
      ASSERT_EQ(grid.refused, "");
      for (std::size_t i = 0; i < want.size(); ++i)
        ASSERT_TRUE(has_bits(got[i], code_of(want[i]), i, columns));
    }
  }
}

TEST(block_rows_of_one_fold, that_is_a_sum) { expect_same_of_one_fold<shares>(); }
TEST(block_rows_of_one_fold, that_is_a_maximum) { expect_same_of_one_fold<distances>(); }

}  // namespace
