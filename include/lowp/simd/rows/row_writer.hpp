// SPDX-License-Identifier: Apache-2.0
// The second half of the loop over rows: results from a row's folds.
#pragma once

#include <lowp/lanes/row_folds.hpp>
#include <lowp/simd/rows/row_accessors.hpp>
#include <lowp/simd/rows/row_fold.hpp>

namespace lowp::simd {

LOWP_LAYERS_BEGIN

template <class Isa, class Call, class Scores = decltype(Call::scores),
          class Columns = decltype(Call::per_column)>
class row_writer;
template <class Isa, class Call, std::size_t... J, class... Score, std::size_t... C,
          class... Column>
class row_writer<Isa, Call, tuple_of<std::index_sequence<J...>, Score...>,
                 tuple_of<std::index_sequence<C...>, Column...>> {
 protected:
  using Operation = decltype(Call::operation);
  using Out = decltype(Call::out);
  using out_accessors = row_accessors<Isa, tuple<Out>>;
  using score_accessors = row_accessors<Isa, tuple<Score...>>;
  using column_accessors = row_accessors<Isa, tuple<Column...>>;
  /// The values kept take half of the smallest second-level caches.
  static constexpr std::size_t most_cached = 8192;
  using folds = typename Operation::folds;
  using registers = typename Isa::registers;
  using F = pack<float, registers>;
  template <int K>
  using folded = row_fold<std::tuple_element_t<std::size_t{K}, folds>, F>;
  static constexpr int last_fold = static_cast<int>(std::tuple_size_v<folds>) - 1;
  static constexpr bool uses_scores = detail::uses_scores<Operation>;
  static constexpr bool has_lines = requires { Call::has_lines; };
  /// With 16 lanes a store takes longer than cheap values do, and registers hold a longer strip.
  static constexpr bool is_cheap =
      Isa::lanes == 16 && requires { typename Operation::template plain_state<F>; };
  static constexpr bool repeats = is_cheap && score_accessors::has_floats;

  LOWP_HOST_FN explicit row_writer(Call const& rows) : call_(rows) {}

  LOWP_HOST_FN void write_row(auto& to, auto& from, auto& with, auto const& state, float* cached,
                              std::size_t visible, std::size_t start = 0) const {
    std::size_t stretch = batch<Isa>;  // those of a row that is not streamed run into each other
    if constexpr (out_accessors::may_be_stretched && score_accessors::may_be_stretched &&
                  column_accessors::may_be_stretched)
      if (!to.template get<0>().is_staged(false)) stretch = columns_ + 1;
    for (std::size_t first = start, valid; first < columns_; first += valid) {
      valid = row_stretch<Isa>(columns_ - first, stretch);
      if (uses_scores || repeats || columns_ > most_cached) from.begin(first, valid);
      with.begin(first, valid);
      to.begin(first, valid);
      if (!is_lean<Isa> && (repeats || columns_ <= most_cached) && first + valid <= visible &&
          detail::is_plain(operation_, state))
        write_stretch<true>(to, from, with, detail::plain_of(operation_, state), cached, visible,
                            first, valid);
      else
        write_stretch<false>(to, from, with, state, cached, visible, first, valid);
      to.end(first, valid);
    }
  }
  /// Writes Width of the elements that are `left`, whose values are not kept.
  template <std::size_t Width>
  LOWP_HOST_FN void write_part(std::size_t first, std::size_t& left, auto& to, auto& from,
                               auto& with, auto const& state) const {
    if (left == 0) return;
    left -= Width;
    from.begin(first, Width);
    with.begin(first, Width);
    to.begin(first, Width);
    write_stretch<true>(to, from, with, detail::plain_of(operation_, state), nullptr, columns_,
                        first, Width);
  }

  template <int K>
  LOWP_HOST_FN auto value_at(auto& from, auto const& state, int k) const {
    return operation_.value(fold::number<K>{}, state, F(from.template get<J>().load(k))...);
  }
  Call const& call_;
  decltype(Call::operation) const& operation_ = call_.operation;
  std::size_t columns_ = call_.columns;

 private:
  /// @tparam IsPlain  true if values are at hand, and the whole stretch is visible
  template <bool IsPlain>
  LOWP_HOST_FN void write_stretch(auto& to, auto& from, auto& with, auto const& state,
                                  float* cached, std::size_t visible, std::size_t first,
                                  std::size_t valid) const {
    auto& out = to.template get<0>();
    int const left = static_cast<int>(valid);
    int k = 0;
    if constexpr (!is_lean<Isa> && std::remove_cvref_t<decltype(out)>::stores_in_order) {
      for (; k + 2 * Isa::lanes <= left; k += 2 * Isa::lanes) {
        F const a = total_of<IsPlain>(out, from, with, state, cached, visible, first, k);
        F const b =
            total_of<IsPlain>(out, from, with, state, cached, visible, first, k + Isa::lanes);
        out.template store_pair<false>(k, a, b);
      }
    }
    for (; k < left; k += Isa::lanes)
      out.template store<false>(
          k, total_of<IsPlain>(out, from, with, state, cached, visible, first, k));
  }
  /// Returns the results of a pack, added to the old values if the operand is read, too.
  template <bool IsPlain>
  LOWP_HOST_FN F total_of(auto& out, auto& from, auto& with, auto const& state, float* cached,
                          std::size_t visible, std::size_t first, int k) const {
    F const result = result_of<IsPlain>(from, with, state, cached, visible, first, k);
    return Out::operand_type::is_read ? lanes::add(out.load(k), result) : result;
  }
  template <bool IsPlain>
  LOWP_HOST_FN F result_of(auto& from, auto& with, auto const& state, float* cached,
                           std::size_t visible, std::size_t first, int k) const {
    if constexpr (uses_scores) {
      return result_at(with, state, k, cached + first, F(from.template get<J>().load(k))...);
    } else {
      std::size_t const e = first + static_cast<std::size_t>(k);
      F value = repeats || (!IsPlain && columns_ > most_cached) ? kept_at(from, state, k)
                                                                : F::load(cached + e);
      if (!IsPlain && e + Isa::lanes > visible)
        value =
            lanes::select(first_lanes<registers>(e < visible ? static_cast<int>(visible - e) : 0),
                          value, lanes::broadcast<F>(0));
      F result = result_at(with, state, k, cached, value);
      if constexpr (requires { operation_.marked_result(state, value); })
        if (std::size_t const lane = state.marked - e; lane < Isa::lanes)
          result = lanes::select(only_lane<registers>(static_cast<int>(lane)),
                                 operation_.marked_result(state, value), result);
      return result;
    }
  }

  LOWP_HOST_FN F kept_at(auto& from, auto const& state, int k) const {
    F const value = value_at<last_fold>(from, state, k);
    return detail::kept_of(operation_, value, operation_.term(fold::number<last_fold>{}, value));
  }
  LOWP_HOST_FN F result_at([[maybe_unused]] auto& with, auto const& state, [[maybe_unused]] int k,
                           [[maybe_unused]] float* sums, auto const&... value) const {
    if constexpr (has_lines) call_.template add_to<F>(state, sums + k, value...);
    return operation_.result(state, value..., F(with.template get<C>().load(k))...);
  }
};

LOWP_EXACT_END

}  // namespace lowp::simd
