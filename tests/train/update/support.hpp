// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of fused_add and update: slots of any format as bare codes, and a rounding
// mode beside the oracle's idea of it. It also takes whole tensors through the oracle's steps.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "oracle/optimizer.hpp"
#include "oracle/philox.hpp"
#include "oracle/report.hpp"
#include "oracle/support.hpp"
#include "support/support.hpp"

namespace lowp_test {

template <lowp::element T>
constexpr oracle::facts slot_facts() {
  if constexpr (std::same_as<T, float>)
    return oracle::binary32;
  else
    return facts<T>;
}
template <lowp::element T>
T slot_value(std::uint32_t code) {
  if constexpr (std::same_as<T, float>)
    return float_of(code);
  else
    return of_code<T>(code);
}

// Elements as the oracle sees them.
struct tensor {
  oracle::facts format;
  std::vector<std::uint32_t> codes;

  [[nodiscard]] std::uint32_t value(std::size_t i) const {
    return oracle::decode_to_float_bits(format, codes[i]);
  }
  [[nodiscard]] std::size_t size() const { return codes.size(); }
};

enum class values { corners, training };

// Corner cases of the format, or normally distributed numbers of the given size.
template <lowp::element T>
tensor random_tensor(std::size_t size, std::uint64_t seed, values kind, double scale = 1) {
  tensor out{slot_facts<T>(), std::vector<std::uint32_t>(size)};
  if (kind == values::training) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, scale);
    for (std::uint32_t& code : out.codes)
      code = oracle::encode(out.format, oracle::from(normal(random)), oracle::mode::nearest_even,
                            oracle::policy::saturate);
  } else if constexpr (std::same_as<T, float>) {
    oracle_test::float_patterns patterns(seed);
    for (std::uint32_t& code : out.codes) code = patterns.next();
  } else {
    codes<T> patterns(seed);
    for (std::uint32_t& code : out.codes) code = patterns.next().bits();
  }
  return out;
}

// The elements of a tensor somewhere inside a larger buffer, at any alignment. What is outside must
// not change.
template <lowp::element T>
class guarded {
 public:
  guarded(tensor const& from, std::size_t lead)
      : lead_(lead), size_(from.size()), buffer_(lead + from.size() + 3, guard()) {
    for (std::size_t i = 0; i < size_; ++i) buffer_[lead + i] = slot_value<T>(from.codes[i]);
  }

  [[nodiscard]] std::span<T> span() { return std::span(buffer_).subspan(lead_, size_); }

  [[nodiscard]] testing::AssertionResult holds(tensor const& want, char const* slot) const {
    for (std::size_t i = 0; i < buffer_.size(); ++i) {
      bool const inside = i >= lead_ && i < lead_ + size_;
      testing::AssertionResult const same =
          inside ? has_bits(buffer_[i], want.codes[i - lead_])
                 : has_bits(buffer_[i], std::bit_cast<code_type>(guard()));
      if (!same)
        return testing::AssertionFailure()
               << slot << '[' << i << " - " << lead_ << "] of " << size_ << ": " << same.message();
    }
    return testing::AssertionSuccess();
  }

 private:
  using code_type =
      std::conditional_t<sizeof(T) == 4, std::uint32_t,
                         std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>;
  static T guard() { return slot_value<T>(slot_facts<T>().has_zero() ? 1 : 0); }

  std::size_t lead_;
  std::size_t size_;
  std::vector<T> buffer_;
};

// The mode of one slot, for the library and for the oracle.
struct slot_mode {
  oracle::mode mode = oracle::mode::nearest_even;
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t offset = 0;
  oracle::generator by = oracle::generator::philox;

  [[nodiscard]] lowp::rounding_mode library() const {
    switch (mode) {
      case oracle::mode::nearest_even:
        return lowp::nearest_even{};
      case oracle::mode::nearest_away:
        return lowp::nearest_away{};
      case oracle::mode::toward_zero:
        return lowp::toward_zero{};
      case oracle::mode::upward:
        return lowp::upward{};
      case oracle::mode::downward:
        return lowp::downward{};
      case oracle::mode::to_odd:
        return lowp::to_odd{};
      case oracle::mode::stochastic:
        break;
    }
    if (by == oracle::generator::keyed)
      return lowp::stochastic_fast{.seed = seed, .stream = stream, .offset = offset};
    return lowp::stochastic{.seed = seed, .stream = stream, .offset = offset};
  }
  // A7: an update has its step in the low half of the stream.
  [[nodiscard]] slot_mode at(std::uint64_t step) const {
    slot_mode s = *this;
    s.stream = oracle::stream_of(static_cast<std::uint32_t>(stream >> 32), step);
    return s;
  }
  [[nodiscard]] std::uint32_t random(std::size_t i, unsigned draw) const {
    return mode == oracle::mode::stochastic ? oracle::random16(seed, stream, offset + i, draw, by)
                                            : 0;
  }
};
struct slot_modes {
  slot_mode param, first, second;
  [[nodiscard]] lowp::per_slot library() const {
    return {.param = param.library(), .first = first.library(), .second = second.library()};
  }
};

// The policy given for every slot, or the format's default. A stored float is not rounded and so
// does not overflow.
using maybe_policy = std::optional<named_policy>;
inline oracle::policy policy_for(oracle::facts const& f, maybe_policy const& given) {
  if (f.bits() == 32) return oracle::policy::infinity;
  return given ? given->policy : oracle::default_policy(f);
}

inline void store(tensor& t, std::size_t i, std::uint32_t value, slot_mode const& m, unsigned draw,
                  maybe_policy const& policy) {
  t.codes[i] = oracle::encode(t.format, oracle::from_float_bits(value), m.mode,
                              policy_for(t.format, policy), m.random(i, draw));
}
inline void store(tensor& t, std::size_t i, oracle::element const& to, slot_mode const& m,
                  maybe_policy const& policy, oracle::report& report,
                  bool has_finite_moments = true) {
  t.codes[i] = report.store(t.format, to.u, to.w, t.codes[i], m.mode, policy_for(t.format, policy),
                            m.random(i, 0), has_finite_moments);
}
inline bool is_finite(tensor const& t, std::size_t i) {
  return (t.value(i) & 0x7fffffffU) < 0x7f800000U;
}

inline oracle::report oracle_fused_add(tensor& p, float alpha, tensor const& u, slot_mode const& m,
                                       maybe_policy const& policy) {
  oracle::report report;
  for (std::size_t i = 0; i < p.size(); ++i)
    store(p, i, oracle::fused_add(p.value(i), float_bits(alpha), u.value(i)), m, policy, report);
  return report;
}

inline oracle::report oracle_update(tensor& p, tensor const& g, tensor& m, tensor& v,
                                    lowp::adamw const& a, std::uint64_t step,
                                    slot_modes const& modes, maybe_policy const& policy) {
  auto const scalars =
      oracle::prepare(oracle::adamw_settings{a.lr, a.beta1, a.beta2, a.eps, a.weight_decay}, step);
  oracle::report report;
  for (std::size_t i = 0; i < p.size(); ++i) {
    auto const to = oracle::adamw(p.value(i), g.value(i), m.value(i), v.value(i), scalars);
    store(m, i, to.m, modes.first.at(step), 1, policy);
    store(v, i, to.v, modes.second.at(step), 2, policy);
    store(p, i, to, modes.param.at(step), policy, report, is_finite(m, i) && is_finite(v, i));
  }
  return report;
}

inline oracle::report oracle_update(tensor& p, tensor const& g, tensor& m, lowp::lion const& l,
                                    std::uint64_t step, slot_modes const& modes,
                                    maybe_policy const& policy) {
  auto const scalars =
      oracle::prepare(oracle::lion_settings{l.lr, l.beta1, l.beta2, l.weight_decay});
  oracle::report report;
  for (std::size_t i = 0; i < p.size(); ++i) {
    auto const to = oracle::lion(p.value(i), g.value(i), m.value(i), scalars);
    store(m, i, to.m, modes.first.at(step), 1, policy);
    store(p, i, to, modes.param.at(step), policy, report, is_finite(m, i));
  }
  return report;
}

inline oracle::report oracle_update(tensor& p, tensor const& g, lowp::ema const& e,
                                    std::uint64_t step, slot_modes const& modes,
                                    maybe_policy const& policy) {
  auto const scalars = oracle::prepare_ema(e.decay);
  oracle::report report;
  for (std::size_t i = 0; i < p.size(); ++i)
    store(p, i, oracle::ema(p.value(i), g.value(i), scalars), modes.param.at(step), policy, report);
  return report;
}

// `m` is ignored without momentum.
inline oracle::report oracle_update(tensor& p, tensor const& g, tensor& m, lowp::sgd const& s,
                                    std::uint64_t step, slot_modes const& modes,
                                    maybe_policy const& policy) {
  auto const scalars = oracle::prepare(
      oracle::sgd_settings{s.lr, s.momentum, s.dampening, s.weight_decay, s.nesterov}, step);
  oracle::report report;
  for (std::size_t i = 0; i < p.size(); ++i) {
    std::uint32_t const buffer = scalars.has_momentum ? m.value(i) : 0;
    auto const to = oracle::sgd(p.value(i), g.value(i), buffer, scalars);
    if (scalars.has_momentum) store(m, i, to.m, modes.first.at(step), 1, policy);
    store(p, i, to, modes.param.at(step), policy, report, !scalars.has_momentum || is_finite(m, i));
  }
  return report;
}

// A10: counts are exact, sums accurate to 1e-6 of the sum of magnitudes.
inline void expect_report(lowp::update_report const& got, oracle::report const& want) {
  auto const exactly = [](oracle::exact_sum const& sum) {
    return oracle_test::to_double(sum.value());
  };
  EXPECT_EQ(got.count, want.count);
  EXPECT_EQ(got.stalled, want.stalled);
  EXPECT_EQ(got.overflowed, want.overflowed);
  EXPECT_EQ(got.nonfinite, want.nonfinite);
  EXPECT_NEAR(got.applied.value(), exactly(want.applied), 1e-6 * exactly(want.moved));
  EXPECT_NEAR(got.requested.value(), exactly(want.wanted), 1e-6 * exactly(want.wanted));
}

// Calls fn(rounding, its effect on each slot, name) for every plain mode; or for the two most used,
// if a kernel for each of them would take too long to compile.
enum class modes { all, two };
template <modes Which, class Fn>
void for_each_rounding(Fn&& fn) {
  for_each_mode([&](auto const& m) {
    if constexpr (Which == modes::all || std::is_same_v<decltype(m.rounding), lowp::nearest_even>) {
      slot_mode const mode{.mode = m.mode};
      fn(m.rounding, slot_modes{mode, mode, mode}, m.name);
    }
  });
  slot_mode const mode{oracle::mode::stochastic, 0x123456789abcdef0, 0xfedcba9876543210, 12345};
  fn(lowp::stochastic{mode.seed, mode.stream, mode.offset}, slot_modes{mode, mode, mode},
     "stochastic");
  if constexpr (Which == modes::all) {
    slot_mode keyed = mode;
    keyed.by = oracle::generator::keyed;
    fn(lowp::stochastic_fast{mode.seed, mode.stream, mode.offset}, slot_modes{keyed, keyed, keyed},
       "stochastic_fast");
  }
}

// A different mode, seed, stream and offset for each slot.
inline slot_modes random_modes(std::mt19937_64& random) {
  auto const one = [&] {
    auto const mode = oracle_test::modes[random() % oracle_test::modes.size()];
    bool const wraps = random() % 4 == 0;  // past 2^64 on the way
    return slot_mode{random() % 2 == 0 ? mode : oracle::mode::stochastic, random(), random(),
                     wraps ? 0 - random() % 200 : random(),
                     random() % 2 == 0 ? oracle::generator::keyed : oracle::generator::philox};
  };
  return {one(), one(), one()};
}

inline constexpr std::array<std::uint64_t, 5> steps{1, 2, 3, 1000, (std::uint64_t{1} << 32) + 5};
inline constexpr std::array<std::size_t, 25> lengths{
    0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 34, 47, 63, 64, 65, 97, 128, 255, 257, 300};
inline std::array<maybe_policy, 3> const maybe_policies{std::nullopt, policies[0], policies[1]};

}  // namespace lowp_test
