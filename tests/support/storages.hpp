// SPDX-License-Identifier: Apache-2.0
// Each storage of the library beside the oracle's, and parameters taken through the oracle's steps
// in one of them.
#pragma once

#include <lowp/lowp.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "oracle/storage.hpp"
#include "train/update/support.hpp"

namespace lowp_test {

// A kind has the element types of its arrays, `view` of two spans, and the oracle's `model`. The
// second array of what has one is never touched.
template <class P, class C>
struct kahan_kind {
  using first = P;
  using second = C;
  static constexpr oracle::kahan model{facts<P>, facts<C>};
  static constexpr oracle::facts policy_format = facts<P>;
  static auto view(std::span<P> value, std::span<C> rest) { return lowp::kahan{value, rest}; }
  static std::string name() { return std::string("kahan_") + facts<P>.name + "_" + facts<C>.name; }
};
template <class W, class C>
struct master_kind {
  using first = W;
  using second = C;
  static constexpr oracle::master model{slot_facts<W>(), facts<C>};
  static constexpr oracle::facts policy_format = facts<C>;
  static auto view(std::span<W> weights, std::span<C> copy) { return lowp::master{weights, copy}; }
  static std::string name() {
    return std::string("master_") + slot_facts<W>().name + "_" + facts<C>.name;
  }
};
template <class H, class L>
struct split_kind {
  using first = H;
  // Bits in an element of the same size.
  using second = std::conditional_t<sizeof(L) == 2, lowp::bfloat16, lowp::float8_e5m2>;
  static constexpr oracle::split model{facts<H>, 8 * static_cast<int>(sizeof(L))};
  static constexpr oracle::facts policy_format = facts<H>;
  static auto view(std::span<H> high, std::span<second> low) {
    return lowp::split_master{high, std::span(reinterpret_cast<L*>(low.data()), low.size())};
  }
  static std::string name() {
    return std::string("split_") + facts<H>.name + "_" + std::to_string(8 * sizeof(L));
  }
};
template <class H, class E>
struct corrected_kind {
  using first = H;
  using second = std::conditional_t<sizeof(E) == 2, lowp::bfloat16, lowp::float8_e5m2>;
  static constexpr oracle::corrected model{facts<H>, 8 * static_cast<int>(sizeof(E))};
  static constexpr oracle::facts policy_format = facts<H>;
  static auto view(std::span<H> value, std::span<second> error) {
    return lowp::corrected_master{value,
                                  std::span(reinterpret_cast<E*>(error.data()), error.size())};
  }
  static std::string name() {
    return std::string("corrected_") + facts<H>.name + "_" + std::to_string(8 * sizeof(E));
  }
};
template <class T, int Exponent, int NextExponent = Exponent>
struct scaled_kind {
  using first = T;
  using second = float;
  static constexpr auto power(int exponent) {
    return static_cast<std::uint32_t>(127 + exponent) << 23;
  }
  static constexpr oracle::scaled model{facts<T>, power(Exponent), power(NextExponent)};
  static constexpr oracle::facts policy_format = facts<T>;
  static auto view(std::span<T> codes, std::span<float>) {
    return lowp::scaled{codes, float_of(power(Exponent)), float_of(power(NextExponent))};
  }
  static std::string name() {
    return std::string("scaled_") + facts<T>.name + "_" + std::to_string(NextExponent - Exponent);
  }
};

struct by_kind {
  template <class Kind>
  static std::string GetName(int) {
    return Kind::name();
  }
};

// The first five have a layout each.
using every_storage_kind = testing::Types<
    kahan_kind<lowp::bfloat16, lowp::bfloat16>, master_kind<float, lowp::bfloat16>,
    split_kind<lowp::float16, std::uint16_t>, corrected_kind<lowp::bfloat16, std::int8_t>,
    scaled_kind<lowp::float8_e4m3fn, 3, -2>, corrected_kind<lowp::float16, std::int16_t>,
    split_kind<lowp::bfloat16, std::uint8_t>, kahan_kind<lowp::float16, lowp::float8_e5m2>,
    kahan_kind<lowp::float8_e4m3fn, lowp::bfloat16>,
    master_kind<lowp::float16, lowp::float8_e4m3fn>, split_kind<lowp::bfloat16, std::uint16_t>,
    split_kind<lowp::float8_e5m2, std::uint8_t>, scaled_kind<lowp::float16, 5>>;
using each_layout = some_of<5, every_storage_kind>::type;
using storage_kinds = some_or_all<each_layout, every_storage_kind>;

// Codes of a parameter, made from floats as a step would leave them.
template <class Kind>
struct stored_tensor {
  tensor first{slot_facts<typename Kind::first>(), {}};
  tensor second{slot_facts<typename Kind::second>(), {}};

  explicit stored_tensor(tensor const& floats) {
    for (std::uint32_t const x : floats.codes) {
      auto const kept =
          Kind::model.store(x, {.beyond = oracle::default_policy(Kind::policy_format)});
      first.codes.push_back(kept.codes[0]);
      second.codes.push_back(kept.codes[1]);
    }
  }
  [[nodiscard]] std::array<std::uint32_t, 2> codes(std::size_t i) const {
    return {first.codes[i], second.codes[i]};
  }
  [[nodiscard]] std::uint32_t value(std::size_t i) const { return Kind::model.value(codes(i)); }

  // Stores w, for which u was the update, and counts.
  void store(std::size_t i, std::uint32_t u, std::uint32_t w, slot_mode const& m,
             maybe_policy const& policy, oracle::report& report, bool has_finite_moments = true) {
    std::uint32_t const before = value(i);
    auto const kept =
        Kind::model.store(w, {m.mode, policy_for(Kind::policy_format, policy), m.random(i, 0)});
    first.codes[i] = kept.codes[0];
    second.codes[i] = kept.codes[1];
    std::uint32_t after = value(i);
    if constexpr (requires { Kind::model.next_value(codes(i)); })
      after = Kind::model.next_value(codes(i));
    report.store(oracle::binary32, u, after, before, oracle::mode::nearest_even,
                 oracle::policy::infinity, 0, has_finite_moments);
    report.overflowed += kept.overflowed ? 1 : 0;
  }
};

template <class Kind>
oracle::report oracle_update(stored_tensor<Kind>& p, tensor const& g, tensor& m, tensor& v,
                             lowp::adamw const& a, std::uint64_t step, slot_modes const& modes,
                             maybe_policy const& policy) {
  auto const scalars =
      oracle::prepare(oracle::adamw_settings{a.lr, a.beta1, a.beta2, a.eps, a.weight_decay}, step);
  oracle::report report;
  for (std::size_t i = 0; i < g.size(); ++i) {
    auto const to = oracle::adamw(p.value(i), g.value(i), m.value(i), v.value(i), scalars);
    store(m, i, to.m, modes.first.at(step), 1, policy);
    store(v, i, to.v, modes.second.at(step), 2, policy);
    p.store(i, to.u, to.w, modes.param.at(step), policy, report,
            is_finite(m, i) && is_finite(v, i));
  }
  return report;
}
template <class Kind>
oracle::report oracle_fused_add(stored_tensor<Kind>& p, float alpha, tensor const& u,
                                slot_mode const& m, maybe_policy const& policy) {
  oracle::report report;
  for (std::size_t i = 0; i < u.size(); ++i) {
    auto const to = oracle::fused_add(p.value(i), float_bits(alpha), u.value(i));
    p.store(i, to.u, to.w, m, policy, report);
  }
  return report;
}

}  // namespace lowp_test
