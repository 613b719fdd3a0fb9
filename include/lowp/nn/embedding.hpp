// SPDX-License-Identifier: Apache-2.0
// Sums of rows: the derivative of a bias. An embedding, rows of a table that ids name, and its
// derivative, which sums rows of one id.
#pragma once

#include <lowp/nn/rows.hpp>
#include <lowp/ops/tensor_list.hpp>
#include <lowp/simd/rows/ids.hpp>

namespace lowp::detail {

LOWP_EXACT_BEGIN

struct row_sum {
  template <class F>
  struct state {};

  LOWP_FN void start(auto const&, std::size_t) const {}
  template <class F>
  LOWP_FN void add_to(fold::number<0>, F& sum, state<F> const&, F const& x) const {
    sum = lanes::add(sum, x);
  }
};

LOWP_EXACT_END

/// Adds up rows: dbias[i] = sum of dy[r * columns + i] over all rows r. 16 rows add up in float, 16
/// such groups in double, and those in double, each in order. No group leaves the range of float if
/// |dy| is below 2^123. The bits depend neither on threads nor on the shape of a launch. For a bias
/// in 16 bits, fused_add adds these floats to its derivative in any rounding.
///
/// @param dbias  `columns` floats, which are overwritten; added_to{dbias} adds the sum to them in
///               double, rounded once
template <class Executor>
struct add_rows_operation : operation<Executor> {
  using calls =
      call<needs_row_input<names::dy>, needs_sums<names::dbias>, needs_number<names::columns>>;

  LOWP_HOST_FN void operator()(row_input auto&& dy, row_sums auto&& dbias,
                               std::size_t columns) const {
    run_rows(this->executor, "add_rows", row_sum{}, read_rows("dy", dy, columns),
             for_each_column("dbias", dbias));
  }
};

/// The type of the elements of rows.
template <class R>
using row_element =
    explicit_of<typename decltype(as_rows(std::declval<std::remove_reference_t<R>&>(), 0)
                                      .elements)::value_type>;

/// Codes of NaN in 32 bits.
template <element T>
inline constexpr std::uint32_t repeated_nan = [] {
  if constexpr (narrow<T>)
    return T(std::numeric_limits<float>::quiet_NaN()).bits() *
           (sizeof(T) == 1 ? 0x01010101u : 0x00010001u);
  else
    return lanes::binary32_nan;
}();

/// Checks ids, if the host can read them.
template <class Executor, class Id>
struct rows_of_ids {
  Id const* ids;
  std::size_t table_rows;
  std::int64_t ignore_index;

  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function, row_extent const& in) const {
    return check_labels<has_own_memory<Executor>>(function, "id", ids, in.rows, table_rows,
                                                  ignore_index);
  }
};
/// Likewise for rows that are put in order.
template <class Executor, class Id>
struct ordered_ids : rows_of_ids<Executor, Id> {
  std::size_t scratch;

  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function, row_extent const& in) const {
    for (auto const& [name, rows] : {std::pair("dout", in.rows), {"dtable", this->table_rows}})
      if (rows > simd::no_id)
        return joined_text(
            {function, ": ", name, " has ", rows, " rows, more than ", std::size_t{simd::no_id}});
    if (has_own_memory<Executor> && scratch < 2 * in.rows)
      return joined_text(
          {function, ": scratch has ", scratch, " elements, not 2 for each of ", in.rows, " rows"});
    return rows_of_ids<Executor, Id>::check(function, in);
  }
};

inline namespace LOWP_SHARED {

/// The keys of rows in the order of their ids.
class ordered_keys {
 public:
  LOWP_HOST_FN ordered_keys() {}
  ordered_keys(ordered_keys const&) = delete;
  ~ordered_keys();

  /// Takes the ids of rows, without those that are ignored.
  template <class Id>
  simd::rows_by_id of(Id const* ids, std::size_t rows, std::int64_t ignored);

 private:
  std::vector<std::uint64_t> keys_;
};

#if defined(LOWP_BODIES)

LOWP_LIB ordered_keys::~ordered_keys() = default;
template <class Id>
LOWP_LIB simd::rows_by_id ordered_keys::of(Id const* ids, std::size_t rows, std::int64_t ignored) {
  keys_.reserve(rows);
  for (std::size_t row = 0; row < rows; ++row)
    if (ids[row] != ignored)
      keys_.push_back(simd::key_of_row(static_cast<std::uint64_t>(ids[row]), row));
  sort(keys_, [](std::uint64_t key) { return key >> 32; });
  return {keys_.data(), keys_.size()};
}
#if defined(LOWP_PART_shared)
template simd::rows_by_id ordered_keys::of(std::int32_t const*, std::size_t, std::int64_t);
template simd::rows_by_id ordered_keys::of(std::int64_t const*, std::size_t, std::int64_t);
#endif

#endif

}  // namespace LOWP_SHARED

/// Copies rows of a table: row r of `out` is row ids[r], to the bit. A row whose id is
/// `ignore_index` is zero.
///
///     gather_rows(table, ids, out, columns);
///
/// On a GPU, the host cannot read the ids. There an id that is no row makes its row NaN.
///
/// @param ids           a row of the table for each row of `out`, or ignore_index
/// @param out           rows of the table's type, in other memory
/// @param ignore_index  optional, -100 as in cross_entropy
template <class Executor>
struct gather_rows_operation : operation<Executor> {
  using calls = call<needs_row_input<names::table>,
                     needs<names::ids, not_a_range_of_int64_or_int32>, needs_row_output<names::out>,
                     needs_number<names::columns>, may_have<1, names::ignore_index, not_a_number>>;

  template <row_input Table, label_range Ids, row_output Out>
    requires std::same_as<row_element<Table>, row_element<Out>>
  LOWP_HOST_FN void operator()(Table&& table, Ids&& ids, Out&& out, std::size_t columns,
                               std::int64_t ignore_index = -100) const {
    using id = std::ranges::range_value_t<std::remove_cvref_t<Ids>>;
    auto const to = write_rows("out", out, columns);
    auto const each = read_for_each_row<id>("ids", ids);
    auto const from = row_argument<row_use::table, simd::access::read>("table", table, columns);
    rows_of_ids<Executor, id> const rows{each.operand, from.range.rows, ignore_index};
    error_text const wrong =
        check_call_over_rows(this->executor, "gather_rows", rows, to, each, from);
    if (!wrong.empty()) return this->executor.refuse_if(wrong);
    using T = typename decltype(to.operand.operand)::type;
    constexpr std::size_t size = sizeof(T);
    this->executor(simd::gather_call<id>{
        static_cast<unsigned char const*>(from.range.data), from.range.rows,
        from.range.stride * size, each.operand, ignore_index,
        reinterpret_cast<unsigned char*>(to.operand.operand.data), to.range.stride * size,
        columns * size, repeated_nan<T>, to.range.rows, columns});
  }
};

template <class T>
using not_a_range_of_uint64 = fit<std::convertible_to<T, std::span<std::uint64_t>>>;

/// Adds rows to those of a table: dtable[ids[r]] += dout[r], the derivative of gather_rows. Rows of
/// one id add up in their order as in add_rows. The sum is added to what the table has, in double,
/// and rounded once to nearest even. Rows that no id names keep their bits. For another rounding,
/// take a table of floats, and fused_add.
///
///     scatter_add_rows(dout, ids, dtable, columns);
///     lowp::cuda::scatter_add_rows(stream, dout, ids, dtable, columns, scratch);
///
/// The processor's memory for the order of the rows is allocated before anything is written, 16
/// bytes a row. A GPU's is an argument. There an id that is no row adds nothing.
///
/// @param dout, dtable  below 2^32 rows each, in other memory
/// @param ids           a row of the table for each row of `dout`, or ignore_index, which adds
///                      nothing: PyTorch's padding_idx, too
/// @param scratch       of a GPU: two std::uint64_t for each row of `dout`
/// @param ignore_index  optional, -100 as in cross_entropy
template <class Executor>
struct scatter_add_rows_operation : operation<Executor> {
  using may_ignore = may_have<1, names::ignore_index, not_a_number>;
  template <class... Scratch>
  using call_with =
      call<needs_row_input<names::dout>, needs<names::ids, not_a_range_of_int64_or_int32>,
           needs_row_output<names::dtable>, needs_number<names::columns>, Scratch..., may_ignore>;
  using calls =
      std::conditional_t<has_own_memory<Executor>,
                         call_with<needs<names::scratch, not_a_range_of_uint64>>, call_with<>>;

  template <row_input Dout, label_range Ids, row_output Dtable>
    requires(!has_own_memory<Executor>)
  LOWP_HOST_FN void operator()(Dout&& dout, Ids&& ids, Dtable&& dtable, std::size_t columns,
                               std::int64_t ignore_index = -100) const {
    add(dout, ids, dtable, columns, {}, ignore_index);
  }
  template <row_input Dout, label_range Ids, row_output Dtable>
    requires has_own_memory<Executor>
  LOWP_HOST_FN void operator()(Dout&& dout, Ids&& ids, Dtable&& dtable, std::size_t columns,
                               std::span<std::uint64_t> scratch,
                               std::int64_t ignore_index = -100) const {
    add(dout, ids, dtable, columns, scratch, ignore_index);
  }

 private:
  LOWP_HOST_FN void add(auto& dout, auto& ids, auto& dtable, std::size_t columns,
                        std::span<std::uint64_t> scratch, std::int64_t ignore_index) const {
    using id = std::ranges::range_value_t<std::remove_cvref_t<decltype(ids)>>;
    auto const from = read_rows("dout", dout, columns);
    auto const each = read_for_each_row<id>("ids", ids);
    auto const to =
        row_argument<row_use::table, simd::access::read_write>("dtable", dtable, columns);
    row_role<row_use::table, std::uint64_t*> at{
        {"scratch", strided_rows{scratch, 1}, 1, row_use::table}, scratch.data()};
    at.range.is_written = true;
    ordered_ids<Executor, id> const rows{{each.operand, to.range.rows, ignore_index},
                                         scratch.size()};
    error_text const wrong =
        check_call_over_rows(this->executor, "scatter_add_rows", rows, from, each, to, at);
    if (!wrong.empty()) return this->executor.refuse_if(wrong);
    std::size_t const count = from.range.rows;
    auto const add_by = [&](simd::rows_by_id const& groups) {
      using scores = simd::tuple<decltype(from.operand)>;
      using sums = simd::tuple<decltype(to.operand)>;
      this->executor(simd::column_call<row_sum, simd::rows_by_id, scores, sums>{
          row_sum{}, groups, count, columns, {{from.operand}}, {{to.operand}}});
    };
    if constexpr (has_own_memory<Executor>) {
      this->executor(simd::id_order_call<id>{each.operand, count, to.range.rows, ignore_index,
                                             scratch.data()});
      add_by({scratch.data() + count, count});
    } else {
      ordered_keys keys;
      add_by(keys.of(each.operand, count, ignore_index));
    }
  }
};

}  // namespace lowp::detail

LOWP_ON_THIS_THREAD(add_rows)
LOWP_ON_THIS_THREAD(gather_rows)
LOWP_ON_THIS_THREAD(scatter_add_rows)

namespace lowp::simd {
template <class T, class Groups, class Sum>
using compiled_row_sum = column_call<detail::row_sum, Groups,
                                     compiled_rows<operand<T, access::read>>, compiled_rows<Sum>>;
#define LOWP_COMPILED_ROW_SUM(part, T)                                         \
  LOWP_COMPILED_CALL(part, compiled_row_sum<T, one_group, compiled_statistic>) \
  LOWP_COMPILED_CALL(part, compiled_row_sum<float, rows_by_id, compiled_slot<T>>)
LOWP_COMPILED_ROW_SUMS(LOWP_COMPILED_ROW_SUM)
#undef LOWP_COMPILED_ROW_SUM
#define LOWP_COMPILED_GATHER(part, Id) LOWP_COMPILED_CALL(part, gather_call<Id>)
LOWP_COMPILED_GATHERS(LOWP_COMPILED_GATHER)
#undef LOWP_COMPILED_GATHER
}  // namespace lowp::simd
