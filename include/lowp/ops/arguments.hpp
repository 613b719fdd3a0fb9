// SPDX-License-Identifier: Apache-2.0
// The arguments that a span-level function takes, and those that it refuses.
#pragma once

#include <lowp/base/error_text.hpp>
#include <lowp/format/basic_float.hpp>
#include <lowp/ops/calls.hpp>
#include <lowp/storage/packed.hpp>

namespace lowp {

/// A contiguous range of known size whose elements are float or a narrow type, and not volatile.
template <class R>
concept input = detail::array_range<R> && element<std::ranges::range_value_t<R>>;

/// A writable `input`. A temporary, which would die with its elements, is not one.
template <class R>
concept output = input<R> && detail::lasting_array<R>;

namespace detail {
template <class R>
struct element_of_range : std::type_identity<std::ranges::range_value_t<R>> {};
template <packed_range R>
struct element_of_range<R> : std::type_identity<typename R::value_type> {};
}  // namespace detail

/// An `input`, or a packed range.
template <class R>
concept any_input = input<R> || detail::packed_range<R>;
/// An `output`, or a packed range that is written.
template <class R>
concept any_output =
    output<R> ||
    (detail::packed_range<R> && !std::is_const_v<typename std::remove_reference_t<R>::byte_type>);

template <class R>
using element_of = typename detail::element_of_range<std::remove_reference_t<R>>::type;

namespace detail {

template <class T>
concept range_rounding = span_rounding<T> || has_device_mode<T>;

template <class T>
using not_a_range_of_float_or_a_narrow_type_such_as_std_span_x_data_x_size = fit<input<T>>;
template <class T>
using not_a_lasting_writable_range_of_float_or_a_narrow_type_such_as_std_span_x_data_x_size =
    fit<output<T>>;
template <class T>
using neither_a_range_of_float_or_a_narrow_type_nor_packed = fit<any_input<T>>;
template <class T>
using neither_a_lasting_writable_range_of_float_or_a_narrow_type_nor_packed = fit<any_output<T>>;
template <class T>
using not_a_number = fit<std::convertible_to<T, float>>;
template <class T>
using not_a_rounding_mode_of_ranges = fit<range_rounding<std::remove_cvref_t<T>>>;
template <class T>
using neither_a_rounding_mode_of_ranges_nor_an_overflow_policy =
    fit<range_rounding<std::remove_cvref_t<T>> || std::same_as<std::remove_cvref_t<T>, overflow>>;
template <class V>
struct a_variable {
  template <class T>
  using is_needed = fit<std::same_as<T, V&>>;
};

template <class Name>
using needs_input =
    needs<Name, not_a_range_of_float_or_a_narrow_type_such_as_std_span_x_data_x_size>;
template <class Name>
using needs_output =
    needs<Name,
          not_a_lasting_writable_range_of_float_or_a_narrow_type_such_as_std_span_x_data_x_size>;
template <class Name>
using needs_number = needs<Name, not_a_number>;
using may_have_rounding_then_policy =
    may_have<2, names::rounding_or_overflow,
             neither_a_rounding_mode_of_ranges_nor_an_overflow_policy>;
template <class Report>
using may_have_report = may_have<1, names::report, a_variable<Report>::template is_needed>;

/// Makes an element function that is known before the kernel.
template <class Function>
struct make {
  Function function{};

  LOWP_FN Function operator()() const { return function; }
};

/// An operation on an executor: a function object, which argument-dependent lookup never finds.
template <class Executor>
struct operation {
  [[no_unique_address]] Executor executor{};
};

/// An executor that has finished when a call returns, so that the call may return a value.
template <class Executor>
concept returns_values = std::derived_from<Executor, throwing>;

/// A range with its name in error texts.
struct extent {
  char const *name, *part;
  void const* data;
  std::size_t size, element_size, bytes;
  std::size_t per_entry = 1;  ///< elements for each entry; more than 1 for scales
  bool is_written = false;
  bool may_coincide = false;  ///< may be the storage of another argument's range

  extent() = default;
  template <class R>
  LOWP_HOST_FN extent(char const* range_name, R& range, char const* part_name = "")
      : name(range_name),
        part(part_name),
        data(std::ranges::data(range)),
        size(static_cast<std::size_t>(std::ranges::size(range))),
        element_size(sizeof(*std::ranges::data(range))),
        bytes(size * element_size) {
    if constexpr (packed_range<R>) bytes = range.size_bytes();
  }
};

inline namespace LOWP_SHARED {

error_text name_of(extent const& range);

/// Checks the arguments of a call in order, and keeps the first error text.
class call_check {
 public:
  LOWP_HOST_FN explicit call_check(char const* function) : function_(function) {}
  LOWP_HOST_FN ~call_check() {}

  [[nodiscard]] LOWP_HOST_FN bool failed() const { return !text_.empty(); }
  [[nodiscard]] LOWP_HOST_FN error_text const& text() const { return text_; }
  [[nodiscard]] LOWP_HOST_FN char const* function() const { return function_; }

  LOWP_HOST_FN void add(error_text const& text) {
    if (!failed()) text_ = text;
  }
  void equal_sizes(extent const* ranges, std::size_t count);
  void no_overlap(extent const& a, extent const& b);
  /// Refuses written ranges that overlap others. Two that may coincide may be the same storage.
  void no_written_overlap(extent const* ranges, std::size_t count);
  /// Refuses a range that the executor cannot reach, such as host memory from a GPU.
  LOWP_HOST_FN void reachable(auto const& executor, extent const& range) {
    if constexpr (requires { executor.out_of_reach(range); }) {
      error_text const why =
          range.size != 0 && !failed() ? executor.out_of_reach(range) : error_text();
      if (!why.empty()) add(joined_text({function_, ": ", why}));
    }
  }

 private:
  char const* function_;
  error_text text_;
};

#if defined(LOWP_BODIES)

LOWP_COLD LOWP_LIB error_text name_of(extent const& range) {
  return joined_text({range.name, range.part});
}

LOWP_COLD inline error_text unequal_sizes_text(char const* function, extent const* ranges,
                                               std::size_t count) {
  error_text text = joined_text({function, ": sizes differ: "});
  for (std::size_t i = 0; i < count; ++i)
    if (ranges[i].per_entry == 1)
      text = joined_text(
          {text, i == 0 ? "" : ", ", ranges[i].name, ranges[i].part, " has ", ranges[i].size});
  return text;
}

LOWP_LIB void call_check::equal_sizes(extent const* ranges, std::size_t count) {
  for (std::size_t i = 1; i < count && !failed(); ++i)
    if (ranges[i].size != ranges[0].size && ranges[i].per_entry == 1)
      text_ = unequal_sizes_text(function_, ranges, count);
}
LOWP_LIB void call_check::no_overlap(extent const& a, extent const& b) {
  auto const a0 = reinterpret_cast<std::uintptr_t>(a.data);
  auto const b0 = reinterpret_cast<std::uintptr_t>(b.data);
  extent const &low = a0 < b0 ? a : b, &high = a0 < b0 ? b : a;
  std::size_t const distance = a0 < b0 ? b0 - a0 : a0 - b0;
  if (a.bytes == 0 || b.bytes == 0 || distance >= low.bytes || failed()) return;
  text_ = joined_text({function_, ": ", a.name, a.part, " (", a.bytes, " bytes) and ", b.name,
                       b.part, " (", b.bytes, " bytes) overlap: ", high.name, high.part, " starts ",
                       distance, " bytes into ", low.name, low.part});
}
LOWP_LIB void call_check::no_written_overlap(extent const* ranges, std::size_t count) {
  for (extent const *a = ranges, *end = ranges + count; a != end; ++a)
    for (extent const* b = a + 1; b != end; ++b) {
      bool const may_be_one = a->may_coincide && b->may_coincide && a->is_written != b->is_written;
      bool const are_one = a->data == b->data && a->bytes == b->bytes;
      if ((a->is_written || b->is_written) && !(may_be_one && are_one)) no_overlap(*a, *b);
    }
}

#endif

}  // namespace LOWP_SHARED

}  // namespace detail

}  // namespace lowp
