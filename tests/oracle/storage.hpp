// SPDX-License-Identifier: Apache-2.0
// Stores one value in two codes, in the exact arithmetic of this folder.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "optimizer.hpp"

namespace oracle {

struct rounding_of_value {
  mode how = mode::nearest_even;
  policy beyond = policy::infinity;
  std::uint32_t random = 0;
};

struct kept {
  std::array<std::uint32_t, 2> codes{};
  bool overflowed = false;
};

constexpr std::uint32_t encode_computed(facts const& f, std::uint32_t w, mode m, policy p,
                                        std::uint32_t r = 0, bool* overflowed = nullptr) {
  return encode(f, from_float_bits(canonical(w)), m, p, r, overflowed);
}
constexpr bool is_number(std::uint32_t x) { return (x & 0x7fffffffU) < 0x7f800000U; }

// Conversion of a NaN does not matter to an update, whose NaNs are canonical.
struct kahan {
  facts value_format, compensation_format;

  [[nodiscard]] constexpr std::uint32_t value(std::array<std::uint32_t, 2> const& codes) const {
    return f32_add(decode_to_float_bits(value_format, codes[0]),
                   decode_to_float_bits(compensation_format, codes[1]));
  }
  [[nodiscard]] constexpr kept store(std::uint32_t w, rounding_of_value const& r) const {
    kept k;
    k.codes[0] = encode_computed(value_format, w, mode::nearest_even, r.beyond, 0, &k.overflowed);
    std::uint32_t const lost = f32_sub(w, decode_to_float_bits(value_format, k.codes[0]));
    k.codes[1] = encode_computed(compensation_format, is_number(lost) ? lost : 0, r.how,
                                 policy::saturate, r.random);
    return k;
  }
};

struct master {
  facts weights, copy;

  [[nodiscard]] constexpr std::uint32_t value(std::array<std::uint32_t, 2> const& codes) const {
    return decode_to_float_bits(weights, codes[0]);
  }
  [[nodiscard]] constexpr kept store(std::uint32_t w, rounding_of_value const& r) const {
    kept k;
    bool weight_overflowed = false;
    bool const is_float = weights.bits() == 32;
    policy const beyond = is_float ? policy::infinity : r.beyond;
    k.codes[0] = encode_computed(weights, w, r.how, beyond, r.random, &weight_overflowed);
    k.codes[1] =
        encode_computed(copy, decode_to_float_bits(weights, k.codes[0]),
                        is_float ? r.how : mode::nearest_even, r.beyond, r.random, &k.overflowed);
    k.overflowed = k.overflowed || weight_overflowed;
    return k;
  }
};

// The high half is found by rounding the whole, and the low half by subtracting codes.
struct split {
  facts high, wide;
  int low_bits;

  constexpr split(facts const& h, int bits_of_low)
      : high(h),
        wide(h),
        low_bits(bits_of_low < 23 - h.significand_bits ? bits_of_low : 23 - h.significand_bits) {
    wide.significand_bits += low_bits;
    low_mask_ = (1U << bits_of_low) - 1;
  }

  [[nodiscard]] constexpr std::uint32_t value(std::array<std::uint32_t, 2> const& codes) const {
    std::uint64_t const sign = codes[0] & high.sign_mask();
    std::uint64_t const magnitude = codes[0] & high.magnitude_mask();
    if (magnitude > high.max_code() + 1) {
      std::uint64_t const payload = codes[1] & ((1U << low_bits) - 1);
      return decode_to_float_bits(wide, std::uint64_t{codes[0]} << low_bits | payload) |
             0x00400000U;
    }
    std::uint32_t const top = (low_mask_ >> 1) + 1;
    std::int64_t const low = std::int64_t{codes[1] & (top - 1)} - std::int64_t{codes[1] & top};
    std::int64_t const whole = (static_cast<std::int64_t>(magnitude) << low_bits) + low;
    return decode_to_float_bits(wide, sign << low_bits | static_cast<std::uint64_t>(whole));
  }
  // For a conversion: a computed NaN has no payload, and another keeps what fits the master.
  [[nodiscard]] constexpr kept convert(std::uint32_t w) const {
    number const x = from_float_bits(w);
    if (x.what != kind::nan) return store(w, {});
    std::uint32_t const code = encode(wide, x, mode::nearest_even, policy::infinity);
    kept k;
    k.codes[0] = code >> low_bits;
    k.codes[1] = code & ((1U << low_bits) - 1);
    return k;
  }
  [[nodiscard]] constexpr kept store(std::uint32_t w, rounding_of_value const& r) const {
    kept k;
    number const x = from_float_bits(w);
    if (x.what == kind::nan) {
      k.codes[0] = encode_computed(high, w, mode::nearest_even, policy::infinity);
      return k;
    }
    // A master of 24 significant bits has none to lose but on the grid below its normal numbers.
    mode const how = wide.significand_bits == 23 ? mode::nearest_even : r.how;
    std::uint64_t whole = encode(wide, x, how, policy::infinity, r.random);
    auto const high_of = [&](std::uint64_t code) {
      return encode(high, decode(wide, code), mode::nearest_away, policy::infinity);
    };
    auto const is_beyond = [&](std::uint64_t code) {
      return (high_of(code) & high.magnitude_mask()) > high.max_code();
    };
    k.overflowed = x.what != kind::infinity && is_beyond(whole);
    if (r.beyond == policy::saturate && is_beyond(whole)) {
      whole = (whole & wide.sign_mask()) | high.max_code() << low_bits;
      while (!is_beyond(whole + 1)) ++whole;
    }
    k.codes[0] = high_of(whole);
    std::uint64_t const below = (k.codes[0] & high.magnitude_mask()) << low_bits;
    k.codes[1] = static_cast<std::uint32_t>((whole & wide.magnitude_mask()) - below) & low_mask_;
    return k;
  }

 private:
  std::uint32_t low_mask_ = 0;
};

// The operations of flashoptim 0.1.4, optimizers.py. Products with a power of two or with a code
// are exact in double, so each statement rounds once.
struct corrected {
  facts value_format;
  int error_bits;

  [[nodiscard]] std::uint32_t value(std::array<std::uint32_t, 2> const& codes) const {
    std::uint32_t const x = decode_to_float_bits(value_format, codes[0]);
    if (!is_number(x)) return x;
    int const error = static_cast<int>(codes[1]) - (codes[1] > most() ? 1 << error_bits : 0);
    float const place = static_cast<float>(error) / static_cast<float>(most());
    return f32_add(
        x, std::bit_cast<std::uint32_t>(static_cast<float>(std::ldexp(place, half_ulp(codes[0])))));
  }
  [[nodiscard]] kept store(std::uint32_t w, rounding_of_value const& r) const {
    kept k;
    k.codes[0] = encode_computed(value_format, w, mode::nearest_even, r.beyond, 0, &k.overflowed);
    std::uint32_t const e = f32_sub(w, decode_to_float_bits(value_format, k.codes[0]));
    if ((e & 0x7fffffffU) > 0x7f800000U) return k;
    bool const is_negative = e >> 31 != 0;
    double const place =
        std::ldexp(double{std::bit_cast<float>(e & 0x7fffffffU)}, -half_ulp(k.codes[0]));
    auto const size = static_cast<float>(std::min(place, 1.0) * most());
    std::uint32_t code = 0;
    if (r.how == mode::nearest_even || r.how == mode::nearest_away) {
      code = static_cast<std::uint32_t>(std::floor(size + 0.5f));
    } else {
      code = static_cast<std::uint32_t>(size);
      double const rest = double{size} - code;
      position const at{code, rest == 0, 0, static_cast<std::uint32_t>(rest * 65536 + 0.5)};
      if (moves_away(r.how, is_negative, at, r.random)) ++code;
    }
    k.codes[1] = (is_negative ? 0 - code : code) & (2 * most() + 1);
    return k;
  }

 private:
  [[nodiscard]] std::uint32_t most() const { return (1U << (error_bits - 1)) - 1; }
  // The exponent of half an ulp of a code.
  [[nodiscard]] int half_ulp(std::uint32_t code) const {
    auto const field =
        static_cast<int>((code & value_format.magnitude_mask()) >> value_format.significand_bits);
    return std::max(field, 1) - value_format.bias - value_format.significand_bits - 1;
  }
};

// A code; `scale` and `next` are float patterns of powers of two.
struct scaled {
  facts format;
  std::uint32_t scale, next;

  [[nodiscard]] constexpr std::uint32_t value(std::array<std::uint32_t, 2> const& codes) const {
    return f32_div(decode_to_float_bits(format, codes[0]), scale);
  }
  [[nodiscard]] constexpr std::uint32_t next_value(
      std::array<std::uint32_t, 2> const& codes) const {
    return f32_div(decode_to_float_bits(format, codes[0]), next);
  }
  [[nodiscard]] constexpr kept store(std::uint32_t w, rounding_of_value const& r) const {
    kept k;
    k.codes[0] =
        encode_computed(format, f32_mul(w, next), r.how, r.beyond, r.random, &k.overflowed);
    return k;
  }
};

}  // namespace oracle
