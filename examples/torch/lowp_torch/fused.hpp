// SPDX-License-Identifier: Apache-2.0
// Fused steps of one kind: see step.hpp.
#pragma once

#include "step.hpp"

#include <string_view>
#include <tuple>

namespace {

// Optimizers: their hyper-parameters, and the type of their tensors.
struct adamw {
  static constexpr int moments = 2;
  static lowp::adamw rates(settings const& s) {
    return {s.lr, s.beta1, s.beta2, s.eps, s.weight_decay};
  }
  static auto of(auto p, auto g, auto m, auto v, std::string_view name) {
    return lowp::adamw_tensor{p, g, m, v, name};
  }
};
struct lion {
  static constexpr int moments = 1;
  static lowp::lion rates(settings const& s) { return {s.lr, s.beta1, s.beta2, s.weight_decay}; }
  static auto of(auto p, auto g, auto m, auto const&, std::string_view name) {
    return lowp::momentum_tensor{p, g, m, name};
  }
};
struct direction {
  static constexpr int moments = 0;
  static lowp::sgd rates(settings const& s) { return {.lr = s.lr, .weight_decay = s.weight_decay}; }
  static auto of(auto p, auto g, auto const&, auto const&, std::string_view name) {
    return lowp::sgd_tensor{p, g, name};
  }
};

inline constexpr lowp::detail::callable<lowp::detail::update_operation<unchecked>>
    update_unchecked{};

template <class Optimizer, class Storage, class First, class Second, class Gradient, class Rounding>
struct fused_kind {
  static constexpr bool has_extra = !std::is_void_v<typename Storage::beside>;
  static constexpr ::layout layout{widths_of<Storage>(),
                                   {sizeof(Gradient)},
                                   Optimizer::moments > 0 ? widths_of<First>() : widths{},
                                   Optimizer::moments > 1 ? widths_of<Second>() : widths{}};

  /// Returns elements first to first + n as an optimizer takes them.
  static auto part_of(tensor const& t, std::size_t first, std::size_t n,
                      std::string_view name = "") {
    return Optimizer::of(Storage::of(t.p, t.extra, first, n),
                         std::span(static_cast<Gradient const*>(t.g) + first, n),
                         First::of(t.m, t.m_scales, first, n),
                         Second::of(t.v, t.v_scales, first, n), name);
  }

  static constexpr bool remembers() { return has_extra; }
  static void step(auto const& update, tensor const& t, std::size_t first, std::size_t n,
                   settings const& s, auto&... outcome) {
    auto const random = rounding_of<Rounding>(s, t, first);
    part_of(t, first, n).apply(update, Optimizer::rates(s), s.step, random, outcome...);
  }
  static void check(settings const& s) { step(lowp::update, tensor(), 0, 0, s); }
  static void take(tensor const& t, std::size_t first, std::size_t n, settings const& s,
                   lowp::update_report* report) {
    if (report == nullptr)
      step(update_unchecked, t, first, n, s);
    else
      step(update_unchecked, t, first, n, s, *report);
  }
  static void resync(tensor const& t, std::size_t first, std::size_t n) {
    if constexpr (has_extra) lowp::resync(Storage::of(t.p, t.extra, first, n));
  }
};

}  // namespace
