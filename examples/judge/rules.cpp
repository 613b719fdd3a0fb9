// SPDX-License-Identifier: Apache-2.0
#include "rules.hpp"

#include <algorithm>
#include <bit>

namespace judge {

namespace {

bool is_subnormal(number_type const& t, exact const& x) {
  int const leading = static_cast<int>(std::bit_width(x.significand)) - 1 + x.exponent;
  return x.what == kind::finite && t.format.has_zero() && leading < 1 - t.format.bias;
}

bool is_ieee(number_type const& t) {
  return t.format.special_values == lowp::specials::ieee && t.format.has_sign;
}
bool both_ieee(number_type const& from, number_type const& to) {
  return is_ieee(from) && is_ieee(to);
}
/// A NaN's code without its low bits: the target is the head of the source.
bool has_head(number_type const& from, number_type const& to) {
  return both_ieee(from, to) && from.format.exponent_bits == to.format.exponent_bits &&
         from.bits() > to.bits();
}
std::uint64_t sign_of(number_type const& from, number_type const& to, std::uint64_t code) {
  return (code & from.sign_mask()) != 0 && !to.format.has_one_nan() ? to.sign_mask() : 0;
}
bool always(number_type const&, number_type const&) { return true; }
bool has_nan(number_type const&, number_type const& to) { return to.format.has_nan(); }
std::uint64_t quiet(number_type const& to) {
  return to.bits() > 16 ? to.infinity_code() | (to.infinity_code() >> 1 & ~to.infinity_code())
                        : to.format.nan_code();
}

constexpr nan_rule every_nan_rule[]{
    {"NaN: payload lost, sign kept",
     [](number_type const& f, number_type const& t, std::uint64_t code) {
       return quiet(t) | sign_of(f, t, code);
     },
     has_nan},
    {"NaN: one code, sign and payload lost",
     [](number_type const&, number_type const& t, std::uint64_t) { return quiet(t); }, has_nan},
    {"NaN: all bits set, sign kept",
     [](number_type const& f, number_type const& t, std::uint64_t code) {
       return t.magnitude_mask() | sign_of(f, t, code);
     },
     always},
    {"NaN: all bits but the sign set",
     [](number_type const&, number_type const& t, std::uint64_t) { return t.magnitude_mask(); },
     always},
    {"NaN: all bits set (PyTorch's vector code to bfloat16)",
     [](number_type const&, number_type const& t, std::uint64_t) { return t.code_mask(); }, always},
    {"NaN: truncated, not made quiet: one with a low payload becomes infinity",
     [](number_type const& f, number_type const& t, std::uint64_t code) {
       std::uint64_t const payload = (code & f.magnitude_mask()) - f.infinity_code();
       int const dropped = f.format.significand_bits - t.format.significand_bits;
       return t.infinity_code() | payload >> dropped | sign_of(f, t, code);
     },
     both_ieee},
    {"NaN: truncated, not made quiet; 1 if no bit is left (NumPy's float16)",
     [](number_type const& f, number_type const& t, std::uint64_t code) {
       std::uint64_t const payload = (code & f.magnitude_mask()) - f.infinity_code();
       int const dropped = f.format.significand_bits - t.format.significand_bits;
       return t.infinity_code() | std::max<std::uint64_t>(payload >> dropped, 1) |
              sign_of(f, t, code);
     },
     both_ieee},
    {"NaN: not looked for, and rounded as a number: one may become a zero",
     [](number_type const& f, number_type const& t, std::uint64_t code) {
       unsigned const dropped = f.bits() - t.bits();
       std::uint64_t const odd = code >> dropped & 1;
       return (code + (std::uint64_t{1} << (dropped - 1)) - 1 + odd) >> dropped & t.code_mask();
     },
     has_head},
    {"NaN: becomes zero",
     [](number_type const&, number_type const&, std::uint64_t) { return std::uint64_t{0}; },
     always},
    {"NaN: becomes zero, sign kept",
     [](number_type const& f, number_type const& t, std::uint64_t code) {
       return sign_of(f, t, code);
     },
     always},
    {"NaN: becomes infinity, sign kept",
     [](number_type const& f, number_type const& t, std::uint64_t code) {
       return t.infinity_code() | sign_of(f, t, code);
     },
     both_ieee},
    {"NaN: becomes the largest value, sign kept",
     [](number_type const& f, number_type const& t, std::uint64_t code) {
       return t.largest_code() | sign_of(f, t, code);
     },
     always},
    {"NaN: becomes the largest value",
     [](number_type const&, number_type const& t, std::uint64_t) { return t.largest_code(); },
     always}};

}  // namespace

int number_rule::features() const {
  return (rounding == mode::nearest_even                  ? 0
          : static_cast<int>(rounding) < modes_of_library ? 1
                                                          : 2) +
         (through != nullptr ? 2 : 0) + (flushes_inputs ? 2 : 0) +
         (results != flush::none ? 2 : 0) + (results == flush::before_rounding ? 1 : 0) +
         (compares_first ? 2 : 0) + (loses_sign_of_zero ? 2 : 0);
}

std::string number_rule::text() const {
  std::string text(name_of(rounding));
  if (through != nullptr) text += ", rounded twice: through " + std::string(through->name);
  if (flushes_inputs) text += ", subnormal inputs flushed to zero";
  if (results == flush::after_rounding) text += ", subnormal results flushed to zero";
  if (results == flush::before_rounding)
    text += ", values below the smallest normal flushed to zero before rounding";
  if (compares_first) text += ", overflow decided before rounding";
  if (loses_sign_of_zero) text += ", sign of zero lost";
  return text;
}

rounded number_rule::operator()(number_type const& from, number_type const& to,
                                exact const& given) const {
  exact x = given;
  if (flushes_inputs && is_subnormal(from, x)) x = {kind::zero, x.is_negative};
  if (through != nullptr)
    x = decode(*through, converted(*through, x, mode::nearest_even, lowp::overflow::infinity));
  if (results == flush::before_rounding && is_subnormal(to, x)) x = {kind::zero, x.is_negative};
  rounded r = round_to(to, x, rounding);
  if (compares_first && x.what == kind::finite && (to.format.has_sign || !x.is_negative)) {
    place const at = locate(to, x);
    if (at.code > to.largest_code() || (at.code == to.largest_code() && !at.is_exact))
      r = {rounded::outcome::beyond, 0, x.is_negative};
  }
  if (r.what != rounded::outcome::in_range) return r;
  std::uint64_t const size = r.code & to.magnitude_mask();
  if (results == flush::after_rounding && size < to.least_normal_code())
    r.code = to.format.has_negative_zero() ? r.code & to.sign_mask() : 0;
  if (loses_sign_of_zero && (r.code & to.magnitude_mask()) == 0) r.code = 0;
  return r;
}

std::vector<number_rule> number_rules(number_type const& from, number_type const& to) {
  std::vector<number_type const*> through{nullptr};
  for (number_type const& t : all_types()) {
    bool const is_between = t.format.significand_bits > to.format.significand_bits &&
                            t.format.significand_bits < from.format.significand_bits &&
                            t.bits() >= 16 && t.special != nullptr;
    if (is_between) through.push_back(&t);
  }
  std::vector<number_rule> rules;
  for (int m = 0; m < all_modes; ++m)
    for (number_type const* const t : through)
      for (bool const flushes : {false, true})
        for (flush const results : {flush::none, flush::after_rounding, flush::before_rounding})
          for (bool const first : {false, true})
            for (bool const loses : {false, true}) {
              if (results != flush::none && to.least_normal_code() < 2) continue;
              if (loses && !to.format.has_negative_zero()) continue;
              rules.push_back({static_cast<mode>(m), t, flushes, results, first, loses});
            }
  std::ranges::stable_sort(rules, {}, &number_rule::features);
  return rules;
}

std::vector<nan_rule> nan_rules(number_type const& from, number_type const& to) {
  std::vector<nan_rule> rules;
  for (nan_rule const& r : every_nan_rule)
    if (r.is_for(from, to)) rules.push_back(r);
  return rules;
}

}  // namespace judge
