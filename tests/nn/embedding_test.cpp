// SPDX-License-Identifier: Apache-2.0
// gather_rows copies bits. scatter_add_rows has the documented order: loops over the rows of each
// id follow it in float and double. Exact integers make its one rounding.
#include <lowp/nn.hpp>
#if defined(_OPENMP)
#include <omp.h>
#include <lowp/openmp.hpp>
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "support/embedding_rows.hpp"
#include "support/row_support.hpp"
#include "support/strided.hpp"

namespace {

using namespace lowp_test;

template <class T>
T rounded(double exact) {
  if (std::isnan(exact)) return std::numeric_limits<T>::quiet_NaN();
  if constexpr (std::same_as<T, float>)
    return static_cast<float>(exact);
  else
    return of_code<T>(oracle::encode(facts<T>,
                                     oracle::from_double_bits(std::bit_cast<std::uint64_t>(exact)),
                                     oracle::mode::nearest_even, oracle::policy::infinity));
}

// 16 rows in float, 16 such groups in double, and those in double, of one column.
double sum_in_order(std::vector<float> const& of_one_id) {
  double total = 0;
  for (std::size_t r = 0; r < of_one_id.size();) {
    double groups = 0;
    for (std::size_t const end = std::min(r + 256, of_one_id.size()); r < end;) {
      float group = 0;
      for (std::size_t const last = std::min(r + 16, of_one_id.size()); r < last; ++r)
        group += of_one_id[r];
      groups += group;
    }
    total += groups;
  }
  return total;
}

template <class Dout, class Table, class Id>
std::vector<Table> expected(std::vector<Dout> const& dout, std::vector<Id> const& ids,
                            std::vector<Table> table, std::size_t columns) {
  for (std::size_t row = 0; row < table.size() / columns; ++row)
    for (std::size_t i = 0; i < columns; ++i) {
      std::vector<float> of_one_id;
      for (std::size_t r = 0; r < ids.size(); ++r)
        if (ids[r] == static_cast<Id>(row)) of_one_id.push_back(float(dout[r * columns + i]));
      Table& each = table[row * columns + i];
      if (!of_one_id.empty()) each = rounded<Table>(double{float(each)} + sum_in_order(of_one_id));
    }
  return table;
}

template <class Dout, class Table, class Id>
struct types {
  using dout = Dout;
  using table = Table;
  using id = Id;
};
template <class Types>
class embedding : public testing::Test {};
using all_types = testing::Types<types<float, float, std::int32_t>,
                                 types<lowp::float16, lowp::bfloat16, std::int64_t>,
                                 types<lowp::bfloat16, lowp::float16, std::int64_t>>;
TYPED_TEST_SUITE(embedding, all_types);

TYPED_TEST(embedding, derivative_has_the_documented_order) {
  using Table = typename TypeParam::table;
  std::mt19937 random(5);
  for (std::size_t const rows : {0U, 1U, 2U, 17U, 63U, 64U, 300U, 1100U})
    for (std::size_t const table_rows : {1U, 3U, 300U, 70000U})
      for (std::size_t const columns : {1U, 5U, 129U}) {
        if (table_rows * columns > 100000 || (columns > 5 && rows == 1100 && table_rows > 3))
          continue;
        auto const ids = some_ids<typename TypeParam::id>(rows, table_rows, random);
        auto dout = numbers<typename TypeParam::dout>(rows * columns, random);
        // Between these rows of one id, a group is lost in double, and sixteen groups are not.
        std::size_t const last = rows < 300 ? 0 : (rows - 2) / 3 * 3 * columns;
        if (rows >= 300 && !std::same_as<typename TypeParam::dout, lowp::float16>)
          for (std::size_t i = 0; i < columns; i += 2)
            dout[i] = typename TypeParam::dout(0x1p60f), dout[last + i] = -dout[i];
        auto table = numbers<Table>(table_rows * columns, random);
        table[0] = Table(NAN);
        auto const want = expected(dout, ids, table, columns);
        lowp::scatter_add_rows(dout, ids, table, columns);
        for (std::size_t i = 1; i < table.size(); ++i)
          ASSERT_TRUE(has_bits(table[i], code_of(want[i]), rows, table_rows, columns, i));
        EXPECT_TRUE(std::isnan(float(table[0])));
      }
}

// A double between two numbers of the table's type, whose float would be the tie.
TEST(embedding_rounding, is_one) {
  constexpr float tie = 1 + 0x1p-8f, tiny = 0x1p-30f;
  std::vector<std::int32_t> const ids(17, 0);
  for (float const sign : {1.0f, -1.0f}) {
    std::vector<float> dout(17, 0.0f);
    dout[0] = tie;
    dout[16] = sign * tiny;  // in another group, so that the sum has it
    std::vector<lowp::bfloat16> table(1);
    lowp::scatter_add_rows(dout, ids, table, 1);
    EXPECT_EQ(float(table[0]), sign > 0 ? 1 + 0x1p-7f : 1.0f);
    std::vector<float> of_float{-0.0f};
    lowp::scatter_add_rows(dout, ids, of_float, 1);
    EXPECT_EQ(of_float[0], tie);
    dout[0] = sign * 0x1.fffffep127f;
    dout[16] = sign * 0x1.fffffep127f;
    lowp::scatter_add_rows(dout, ids, table, 1);
    EXPECT_EQ(float(table[0]), sign * HUGE_VALF);
    dout[0] = sign * 0x1p-134f;  // the tie below the smallest bfloat16
    dout[16] = sign * 0x1p-149f;
    table[0] = lowp::bfloat16(0.0f);
    lowp::scatter_add_rows(dout, ids, table, 1);
    EXPECT_EQ(float(table[0]), sign * 0x1p-133f);
  }
}

// Sums beside what lies halfway between two numbers, some with an addend that double loses.
template <class T>
void expect_one_rounding_of_few_rows() {
  std::mt19937 random(8);
  constexpr std::size_t columns = 4001;
  std::vector<T> table(columns);
  std::vector<float> dout(columns);
  for (std::size_t i = 0; i < columns; ++i) {
    T const near = of_code<T>(random() % code_count<T>);
    if (!isfinite(near)) continue;
    double const halfway = double{float(near)} + double{gap_above(near)} / 2;
    table[i] = T(std::ldexp(float(near), -static_cast<int>(random() % 30)));
    if (i % 5 == 0) table[i] = T(std::ldexp(float(near), -90));
    dout[i] = static_cast<float>(halfway - double{float(table[i])});
    int const step = static_cast<int>(random() % 5) - 2;
    if (step != 0) dout[i] = std::nextafter(dout[i], step > 0 ? HUGE_VALF : -HUGE_VALF);
  }
  std::vector<std::int32_t> const ids(1, 0);
  auto const want = expected(dout, ids, table, columns);
  lowp::scatter_add_rows(dout, ids, table, columns);
  for (std::size_t i = 0; i < columns; ++i)
    ASSERT_TRUE(has_bits(table[i], code_of(want[i]), i, dout[i]));
}
TEST(embedding_rounding, of_few_rows_is_one) {
  expect_one_rounding_of_few_rows<lowp::bfloat16>();
  expect_one_rounding_of_few_rows<lowp::float16>();
  expect_one_rounding_of_few_rows<lowp::float8_e5m2>();
}

TEST(embedding_rounding, makes_the_canonical_nan_and_leaves_other_rows) {
  std::vector<float> const dout{NAN, HUGE_VALF, -HUGE_VALF, -NAN};
  std::vector<std::int32_t> const ids{3, 1, 1, -100};
  std::vector<float> table(4, float_of(0xffe51234));  // rows that no id names keep payload and sign
  lowp::scatter_add_rows(dout, ids, table, 1);
  for (std::size_t row = 0; row < 4; ++row)
    EXPECT_EQ(float_bits(table[row]), row % 2 == 1 ? 0x7fc00000U : 0xffe51234U) << row;
}

template <class T, class Id>
void expect_copies(std::size_t columns) {
  std::mt19937 random(3);
  constexpr std::size_t table_rows = 13, rows = 40;
  std::vector<T> table(table_rows * columns);
  for (T& each : table) {  // any bits, NaN of all kinds too
    auto const bits = static_cast<std::uint32_t>(random());
    if constexpr (std::same_as<T, float>)
      each = float_of(bits);
    else
      each = of_code<T>(bits % code_count<T>);
  }
  auto const ids = some_ids<Id>(rows, table_rows, random);
  std::vector<T> out(rows * columns, T(1.0f));
  lowp::gather_rows(table, ids, out, columns);
  T const poison = T(3.0f);
  auto spaced = spread(std::vector<T>(out.size(), T(1.0f)), columns, 3, poison);
  auto const spaced_table = spread(table, columns, 1, poison);
  lowp::gather_rows(lowp::strided_rows{spaced_table, columns + 1}, ids,
                    lowp::strided_rows{spaced, columns + 3}, columns);
  auto const strided = gathered(spaced, columns, 3, poison);
  for (std::size_t i = 0; i < out.size(); ++i) {
    Id const id = ids[i / columns];
    std::size_t const from =
        id == Id{ignored_id} ? 0 : static_cast<std::size_t>(id) * columns + i % columns;
    std::uint32_t const want = id == Id{ignored_id} ? 0 : code_of(table[from]);
    ASSERT_TRUE(has_bits(out[i], want, columns, i));
    ASSERT_TRUE(has_bits(strided[i], want, columns, i));
  }
}
TEST(embedding_rows, are_copied_to_the_bit) {
  for (std::size_t const columns : {1U, 3U, 64U, 131U}) {
    expect_copies<float, std::int64_t>(columns);
    expect_copies<lowp::bfloat16, std::int32_t>(columns);
    expect_copies<lowp::float8_e4m3fn, std::int32_t>(columns);
  }
}

TEST(embedding_rows, derivative_of_strided_rows) {
  std::mt19937 random(4);
  for (std::size_t const columns : {1U, 7U, 130U}) {
    auto const ids = some_ids<std::int32_t>(40, 9, random);
    auto const dout = numbers<float>(40 * columns, random);
    auto want = numbers<float>(9 * columns, random);
    auto spaced = spread(want, columns, 2, -7.0f);
    lowp::scatter_add_rows(dout, ids, want, columns);
    auto const spaced_dout = spread(dout, columns, 5, NAN);
    lowp::scatter_add_rows(lowp::strided_rows{spaced_dout, columns + 5}, ids,
                           lowp::strided_rows{spaced, columns + 2}, columns);
    auto const got = gathered(spaced, columns, 2, -7.0f);
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_TRUE(has_bits(got[i], code_of(want[i]), columns, i));
  }
}

TEST(embedding_rows, another_id_may_be_ignored) {
  std::vector<float> table{1, 2, 3}, out(3);
  std::vector<std::int32_t> const ids{0, 1, 1};
  lowp::gather_rows(table, ids, out, 1, 1);
  EXPECT_EQ(out, (std::vector<float>{1, 0, 0}));
  lowp::scatter_add_rows(std::vector<float>{5, 6, 7}, ids, table, 1, 1);
  EXPECT_EQ(table, (std::vector<float>{6, 2, 3}));
}

#if defined(_OPENMP)
TEST(embedding_rows, any_team_has_the_same_bits) {
  std::mt19937 random(6);
  constexpr std::size_t rows = 3000, table_rows = 200, columns = 130;
  auto const ids = some_ids<std::int32_t>(rows, table_rows, random);
  auto const dout = numbers<float>(rows * columns, random);
  auto const before = numbers<float>(table_rows * columns, random);
  auto want = before;
  std::vector<float> want_rows(dout.size());
  lowp::scatter_add_rows(dout, ids, want, columns);
  lowp::gather_rows(before, ids, want_rows, columns);
  int const most = omp_get_max_threads();
  for (int threads = 1; threads <= 7; ++threads) {
    omp_set_num_threads(threads);
    auto got = before;
    std::vector<float> got_rows(dout.size());
    lowp::openmp::scatter_add_rows(dout, ids, got, columns);
    lowp::openmp::gather_rows(before, ids, got_rows, columns);
    EXPECT_EQ(got, want) << threads;
    EXPECT_EQ(got_rows, want_rows) << threads;
  }
  omp_set_num_threads(most);
}
#endif

TEST(embedding_refusals, name_the_mistake_before_anything_is_written) {
  std::vector<float> table(12, 1.0f), rows(8, 1.0f);
  std::vector<std::int64_t> ids{0, 3};
  auto const expect = [&](std::int64_t second, std::string const& what) {
    ids[1] = second;
    auto const table_before = table, rows_before = rows;
    std::string const id =
        ": the id of row 1 is " + what + ", not from 0 to 2 or ignore_index, -100";
    expect_refusal([&] { lowp::gather_rows(table, ids, rows, 4); }, "lowp::gather_rows" + id);
    expect_refusal([&] { lowp::scatter_add_rows(rows, ids, table, 4); },
                   "lowp::scatter_add_rows" + id);
    EXPECT_EQ(table, table_before);
    EXPECT_EQ(rows, rows_before);
  };
  expect(3, "3");
  expect(-1, "-1");
  expect(std::int64_t{1} << 32, "4294967296");  // not row 0
  ids[1] = 2;
  expect_refusal([&] { lowp::gather_rows(table, ids, rows, 5); },
                 "lowp::gather_rows: out has 8 elements, which are not rows of 5");
  expect_refusal([&] { lowp::gather_rows(table, ids, rows, 0); },
                 "lowp::gather_rows: columns is 0");
  expect_refusal([&] { lowp::scatter_add_rows(rows, ids, table, 8); },
                 "lowp::scatter_add_rows: ids has 2 elements for 1 rows");
  expect_refusal([&] { lowp::scatter_add_rows(rows, ids, std::span(table).first(11), 4); },
                 "lowp::scatter_add_rows: dtable has 11 elements, which are not rows of 4");
  expect_refusal([&] { lowp::scatter_add_rows(std::span(table).first(8), ids, table, 4); },
                 "lowp::scatter_add_rows: dout (32 bytes) and dtable (48 bytes) overlap: dout "
                 "starts 0 bytes into dtable");
  expect_refusal([&] { lowp::gather_rows(table, ids, std::span(table).last(8), 4); },
                 "lowp::gather_rows: out (32 bytes) and table (48 bytes) overlap: out starts 16 "
                 "bytes into table");
  std::vector<float> none;
  expect_refusal([&] { lowp::gather_rows(none, ids, rows, 4); },
                 "lowp::gather_rows: the id of row 0 is 0, not from 0 to -1 or ignore_index, -100");
  // These rows do not exist: their number is refused before any is read.
  constexpr std::size_t beyond = std::size_t{1} << 32;
  std::span<float> const many(rows.data(), beyond);
  std::span<std::int64_t const> const many_ids(ids.data(), beyond);
  expect_refusal([&] { lowp::scatter_add_rows(many, many_ids, table, 1); },
                 "lowp::scatter_add_rows: dout has 4294967296 rows, more than 4294967295");
  expect_refusal([&] { lowp::scatter_add_rows(std::span(rows).first(2), ids, many, 1); },
                 "lowp::scatter_add_rows: dtable has 4294967296 rows, more than 4294967295");
}

TEST(embedding_refusals, nothing_happens_to_no_rows) {
  std::vector<float> table(4, 1.0f), none;
  std::vector<std::int32_t> const ids;
  lowp::gather_rows(table, ids, none, 4);
  lowp::scatter_add_rows(none, ids, table, 4);
  lowp::scatter_add_rows(none, ids, none, 4);
  EXPECT_EQ(table, std::vector<float>(4, 1.0f));
}

}  // namespace
