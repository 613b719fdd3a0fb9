// SPDX-License-Identifier: Apache-2.0
// Lists of tensors: one call serves a whole model, and an error names the tensor.
#pragma once

#include <lowp/simd/executors.hpp>

#include <string_view>
#include <vector>

namespace lowp {

namespace detail {
/// A name whose characters outlive the expression: a literal, a view, or a string that is no
/// temporary.
template <class N>
concept lasting_name = std::convertible_to<N, std::string_view> &&
                       (!std::ranges::range<N> || std::ranges::borrowed_range<N>);

struct the_name_is_a_temporary;
}  // namespace detail

/// A tensor of a list: a span, which an element type stands for, or any struct of the folder
/// storage. The caller owns the elements and the characters of the name.
///
///     std::vector<named<bfloat16>> list{{"x", x}, {"y", y}};    a member of a class
template <class Values>
struct named {
  std::string_view name;
  std::conditional_t<element<std::remove_const_t<Values>>, std::span<Values>, Values> values;
};
template <detail::lasting_name N, std::ranges::contiguous_range R>
named(N&&, R&&) -> named<std::span<std::remove_reference_t<std::ranges::range_reference_t<R>>>>;
template <detail::lasting_name N, class S>
  requires(!std::ranges::contiguous_range<S>)
named(N&&, S) -> named<S>;
template <std::convertible_to<std::string_view> N, class S>
  requires(!detail::lasting_name<N>)
named(N&&, S&&) -> named<detail::the_name_is_a_temporary>;

namespace detail {
template <class T>
inline constexpr bool is_named = false;
template <class Values>
inline constexpr bool is_named<named<Values>> = true;

template <class L>
using values_of = decltype(std::declval<std::ranges::range_value_t<L>&>().values);
}  // namespace detail

/// A range of `named`, all of one type. Tensors of other types need another list. Their numbers key
/// stochastic rounding; they continue if its mode is `of_tensor(size of the first list)`.
template <class L>
concept tensor_list = std::ranges::forward_range<L const> &&
                      detail::is_named<std::remove_cv_t<std::ranges::range_value_t<L>>>;

namespace detail {

inline namespace LOWP_UNIT {

/// Sorts by an unsigned key, equal ones in their order: a short list by insertion, others a byte at
/// a time. std::qsort takes longer than a step of small tensors, and std::sort a fifth of the time
/// to compile an update.
template <class T, class Key>
void sort(std::vector<T>& all, Key const& key) {
  if (all.size() < 64) {
    for (std::size_t i = 1; i < all.size(); ++i)
      for (std::size_t k = i; k > 0 && key(all[k]) < key(all[k - 1]); --k)
        std::swap(all[k], all[k - 1]);
    return;
  }
  auto varying = key(all[0]) ^ key(all[0]);
  for (T const& each : all) varying |= key(each) ^ key(all[0]);
  std::vector<T> sorted(all.size());
  for (unsigned shift = 0; shift < sizeof(varying) * 8; shift += 8) {
    if ((varying >> shift & 0xff) == 0) continue;
    std::size_t places[257] = {};
    for (T const& each : all) ++places[(key(each) >> shift & 0xff) + 1];
    for (int digit = 0; digit < 255; ++digit) places[digit + 1] += places[digit];
    for (T const& each : all) sorted[places[key(each) >> shift & 0xff]++] = each;
    all.swap(sorted);
  }
}

}  // namespace LOWP_UNIT

inline namespace LOWP_SHARED {

error_text text_of_tensor(std::string_view name, std::size_t number);
error_text text_in_tensor(error_text const& wrong, error_text const& tensor);
error_text text_of_overlap(char const* function, error_text const& one, error_text const& other);

/// The arrays of a list's tensors.
class listed_arrays {
 public:
  LOWP_HOST_FN listed_arrays() {}
  listed_arrays(listed_arrays const&) = delete;
  ~listed_arrays();

  void add(void const* begin, std::size_t bytes, std::uint32_t tensor, bool is_written);
  /// Makes room for that many times the arrays of the first tensor.
  void reserve(std::size_t tensors);
  /// Returns the numbers of two tensors that share memory of which one is written; equal numbers if
  /// there are no such tensors. Tied weights that are listed twice would be written twice, or by
  /// two threads at once.
  std::pair<std::uint32_t, std::uint32_t> find_overlap();

 private:
  struct array {
    std::uintptr_t begin, end;
    std::uint32_t tensor;
    bool is_written;
  };
  std::vector<array> all_;
};

#if defined(LOWP_BODIES)

LOWP_COLD LOWP_LIB error_text text_of_tensor(std::string_view name, std::size_t number) {
  if (name.empty()) return joined_text({number});
  error_text text("'");
  text.append(name.data(), name.size());
  text.append("'", 1);
  return text;
}

LOWP_COLD LOWP_LIB error_text text_in_tensor(error_text const& wrong, error_text const& tensor) {
  return joined_text({wrong, ", in tensor ", tensor});
}
LOWP_COLD LOWP_LIB error_text text_of_overlap(char const* function, error_text const& one,
                                              error_text const& other) {
  return joined_text(
      {function, ": tensors ", one, " and ", other, " share memory that is written"});
}

LOWP_LIB listed_arrays::~listed_arrays() = default;
LOWP_LIB void listed_arrays::add(void const* data, std::size_t bytes, std::uint32_t tensor,
                                 bool is_written) {
  auto const begin = reinterpret_cast<std::uintptr_t>(data);
  if (bytes != 0) all_.push_back({begin, begin + bytes, tensor, is_written});
}
LOWP_LIB void listed_arrays::reserve(std::size_t tensors) { all_.reserve(all_.size() * tensors); }
LOWP_LIB std::pair<std::uint32_t, std::uint32_t> listed_arrays::find_overlap() {
  if (all_.empty()) return {0, 0};
  sort(all_, [](array const& each) { return each.begin; });
  // The ranges so far that reach furthest: of all, of the other tensors, and of those written. Of
  // these one is enough: until an overlap is found, two tensors' written ranges lie apart.
  array first{}, other{}, written{};
  for (array const& each : all_) {
    bool const is_own = first.tensor == each.tensor;
    array const& before = !each.is_written ? written : is_own ? other : first;
    if (before.tensor != each.tensor && each.begin < before.end)
      return {before.tensor, each.tensor};
    if (each.end > first.end) {
      if (!is_own) other = first;
      first = each;
    } else if (!is_own && each.end > other.end) {
      other = each;
    }
    if (each.is_written && each.end > written.end) written = each;
  }
  return {0, 0};
}

#endif

}  // namespace LOWP_SHARED

inline namespace LOWP_UNIT {

/// An executor that runs nothing. It records the arrays of a call, or why the call is refused.
template <class Executor>
struct list_recorder : Executor {
  char const* function;
  listed_arrays& arrays;
  error_text& wrong;
  std::uint32_t number;

  void operator()(auto const& call) const {
    call.each_array([&]<class T>(std::span<T> array) {
      arrays.add(array.data(), array.size_bytes(), number, !std::is_const_v<T>);
    });
  }
  void refuse_if(error_text const& what) const { wrong = what; }
  /// Returns true after the first tensor: the numbers of a call are the same for all.
  [[nodiscard]] bool knows_numbers() const { return number != 0; }
};

/// Returns 'name', or the number of a tensor without a name.
error_text tensor_text(auto const& list, std::uint32_t number) {
  auto at = std::ranges::begin(list);
  for (std::uint32_t i = 0; i < number; ++i) ++at;
  return text_of_tensor((*at).name, number);
}

/// Returns the error text of the first refused `call(executor, tensor, number)`, or of two tensors
/// that share memory that is written. Nothing runs. A tensor without elements is first: it shows
/// what is wrong with every call, of an empty list too.
template <class Executor, class List, class Call>
[[nodiscard]] error_text check_each(Executor const& executor, char const* function,
                                    List const& list, Call const& call) {
  using tensor_type = std::ranges::range_value_t<List>;
  listed_arrays arrays;
  error_text wrong;
  list_recorder<Executor> recorder{executor, function, arrays, wrong, 0};
  if constexpr (std::default_initializable<tensor_type>)
    call(recorder, tensor_type{}, std::uint32_t{0});
  if (!wrong.empty()) return wrong;
  for (auto const& tensor : list) {
    call(recorder, tensor, recorder.number);
    if (!wrong.empty()) return text_in_tensor(wrong, tensor_text(list, recorder.number));
    if (recorder.number == 0) arrays.reserve(static_cast<std::size_t>(std::ranges::distance(list)));
    ++recorder.number;
  }
  auto const [one, other] = arrays.find_overlap();
  if (one == other) return {};
  return text_of_overlap(function, tensor_text(list, one < other ? one : other),
                         tensor_text(list, one < other ? other : one));
}

/// Makes `call(executor, tensor, number)` for each tensor of a list that was checked.
template <class Executor>
LOWP_HOST_FN void for_each_checked(Executor const& executor, auto const& list, auto const& call) {
  std::uint32_t number = 0;
  for (auto const& tensor : list) call(checked<Executor>{executor}, tensor, number++);
}
/// Checks the call for each tensor, then makes all of them.
void call_each(auto const& executor, char const* function, auto const& list, auto const& call) {
  executor.refuse_if(check_each(executor, function, list, call));
  for_each_checked(executor, list, call);
}

}  // namespace LOWP_UNIT

}  // namespace detail

}  // namespace lowp
