// SPDX-License-Identifier: Apache-2.0
// gather_rows and scatter_add_rows by the GPU's kernels: the processor's bits, whatever the blocks.
#include <lowp/nn.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "simulated_grid.hpp"
#include "support/embedding_rows.hpp"
#include "support/row_support.hpp"

namespace {

using namespace lowp_test;

template <class Dout, class Table, class Id>
void expect_bits_of_host(std::size_t rows, std::size_t table_rows, std::size_t columns,
                         unsigned threads) {
  std::mt19937 random(static_cast<unsigned>(rows + columns));
  auto const ids = some_ids<Id>(rows, table_rows, random);
  auto dout = numbers<Dout>(rows * columns, random);
  // Between these rows of one id, a group is lost in double, and sixteen groups are not.
  if (rows > 300) dout[0] = Dout(0x1p60f), dout[(rows - 1) / 33 * 33 * columns] = Dout(-0x1p60f);
  auto want = numbers<Table>(table_rows * columns, random);
  auto got = want;
  std::vector<Table> want_rows(dout.size()), got_rows(dout.size(), Table(1.0f));
  std::vector<std::uint64_t> scratch(2 * rows);
  simulated_grid grid(threads, 3);
  lowp::cuda::on_grid<simulated_grid> const executor{grid};
  lowp::gather_rows(want, ids, want_rows, columns);
  ASSERT_EQ(refusal_of<lowp::detail::gather_rows_operation>(executor, got, ids, got_rows, columns),
            "");
  for (std::size_t i = 0; i < want_rows.size(); ++i)
    ASSERT_TRUE(has_bits(got_rows[i], code_of(want_rows[i]), rows, columns, i));
  lowp::scatter_add_rows(dout, ids, want, columns);
  ASSERT_EQ(refusal_of<lowp::detail::scatter_add_rows_operation>(executor, dout, ids, got, columns,
                                                                 scratch),
            "");
  for (std::size_t i = 0; i < want.size(); ++i)
    ASSERT_TRUE(has_bits(got[i], code_of(want[i]), rows, columns, i));
}

TEST(cuda_embedding, has_the_bits_of_the_host) {
  for (unsigned const threads : {32U, 96U, 256U}) {
    expect_bits_of_host<float, float, std::int32_t>(1, 1, 1, threads);
    expect_bits_of_host<float, float, std::int32_t>(300, 7, 33, threads);
    expect_bits_of_host<lowp::bfloat16, lowp::bfloat16, std::int64_t>(1500, 90, 5, threads);
  }
  expect_bits_of_host<lowp::bfloat16, lowp::bfloat16, std::int64_t>(2500, 5000, 3, 32);
  expect_bits_of_host<float, float, std::int32_t>(40, 9, 300, 256);
  // Few ids, whose columns are work for several blocks.
  expect_bits_of_host<float, float, std::int32_t>(300, 2, 300, 256);
}

// Rows of which an access takes 16 bytes, 4, 2 or 1.
TEST(cuda_embedding, copies_rows_of_any_size) {
  std::mt19937 random(1);
  for (std::size_t const columns : {1U, 2U, 4U, 32U, 100U}) {
    std::vector<lowp::float8_e4m3fn> table(10 * columns), out(20 * columns), want(out);
    for (auto& each : table) each = lowp::float8_e4m3fn::from_bits(random() % 256);
    auto const ids = some_ids<std::int32_t>(20, 10, random);
    simulated_grid grid(64);
    lowp::gather_rows(table, ids, want, columns);
    ASSERT_EQ(refusal_of<lowp::detail::gather_rows_operation>(
                  lowp::cuda::on_grid<simulated_grid>{grid}, table, ids, out, columns),
              "");
    EXPECT_EQ(grid.bytes_written, out.size());
    for (std::size_t i = 0; i < out.size(); ++i)
      ASSERT_TRUE(has_bits(out[i], want[i].bits(), columns, i));
  }
}

// The host cannot refuse ids that it cannot read.
TEST(cuda_embedding, ids_of_no_row_give_nan_and_add_nothing) {
  std::vector<lowp::bfloat16> table(3, lowp::bfloat16(2.0f)), out(4);
  std::vector<std::int64_t> const ids{3, -1, std::int64_t{1} << 32, 2};
  std::vector<std::uint64_t> scratch(8);
  simulated_grid grid(32);
  lowp::cuda::on_grid<simulated_grid> const executor{grid};
  refusal_of<lowp::detail::gather_rows_operation>(executor, table, ids, out, 1);
  for (std::size_t r = 0; r < 3; ++r) EXPECT_EQ(out[r].bits(), 0x7fc0) << r;
  EXPECT_EQ(float(out[3]), 2);
  out.assign(4, lowp::bfloat16(1.0f));
  refusal_of<lowp::detail::scatter_add_rows_operation>(executor, out, ids, table, 1, scratch);
  EXPECT_EQ(float(table[0]), 2);
  EXPECT_EQ(float(table[1]), 2);
  EXPECT_EQ(float(table[2]), 3);
}

TEST(cuda_embedding, refusals) {
  std::vector<float> table(12), rows(8);
  std::vector<std::int32_t> const ids{0, 2};
  std::vector<std::uint64_t> scratch(4);
  simulated_grid grid(32);
  lowp::cuda::on_grid<simulated_grid> const executor{grid};
  auto const refusal = [&](std::span<std::uint64_t> at) {
    return refusal_of<lowp::detail::scatter_add_rows_operation>(executor, rows, ids, table, 4, at);
  };
  EXPECT_EQ(refusal(std::span(scratch).first(3)),
            "scatter_add_rows: scratch has 3 elements, not 2 for each of 2 rows");
  EXPECT_EQ(refusal({reinterpret_cast<std::uint64_t*>(table.data()), 4}),
            "scatter_add_rows: dtable (48 bytes) and scratch (32 bytes) overlap: dtable starts 0 "
            "bytes into scratch");
  grid.out_of_reach = scratch.data();
  EXPECT_EQ(refusal(scratch), "scatter_add_rows: scratch is far away");
  grid.out_of_reach = table.data();
  EXPECT_EQ(refusal_of<lowp::detail::gather_rows_operation>(executor, table, ids, rows, 4),
            "gather_rows: table is far away");
  EXPECT_EQ(grid.launches, 0);
  grid.out_of_reach = nullptr;
  refusal_of<lowp::detail::scatter_add_rows_operation>(executor, std::span(rows).first(0),
                                                       std::span(ids).first(0), table, 4, scratch);
  EXPECT_EQ(grid.launches, 0);
}

}  // namespace
