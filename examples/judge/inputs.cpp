// SPDX-License-Identifier: Apache-2.0
#include "inputs.hpp"

#include <algorithm>

#include "rounding.hpp"

namespace judge {

namespace {

using words = std::vector<std::uint64_t>;

/// The magnitudes of `to` at whose boundaries inputs lie: all, or some of each power of two.
words codes_of(number_type const& to) {
  words codes;
  std::uint64_t const beyond = to.largest_code() + 2;
  if (to.bits() <= 16) {
    for (std::uint64_t c = 0; c <= beyond; ++c) codes.push_back(c);
    return codes;
  }
  std::uint64_t const one = std::uint64_t{1} << to.format.significand_bits;
  for (std::uint64_t first = 0; first <= to.largest_code(); first += one) {
    for (std::uint64_t const c : {std::uint64_t{0}, std::uint64_t{1}, one / 2, one - 2, one - 1})
      codes.push_back(first + c);
    for (std::uint64_t k = 0; k < 16; ++k) codes.push_back(first + mixed(first + k) % one);
  }
  codes.push_back(beyond);
  return codes;
}

/// Adds a magnitude, and those next to it.
void add_around(words& all, number_type const& from, exact const& x) {
  place const at = locate(from, x);
  std::uint64_t const first = at.code == 0 ? 0 : at.code - 1;
  for (std::uint64_t c = first; c <= std::min(at.code + 2, from.largest_code()); ++c)
    all.push_back(c);
}

/// A magnitude of the grid of `to`, which may be beyond its largest value.
exact on_grid(number_type const& to, std::uint64_t code) {
  lowp::format const& f = to.format;
  if (!f.has_zero()) return {kind::finite, false, 1, static_cast<int>(code) - f.bias};
  std::uint64_t const one = std::uint64_t{1} << f.significand_bits;
  std::uint64_t const field = code >> f.significand_bits, rest = code & (one - 1);
  int const exponent = static_cast<int>(std::max<std::uint64_t>(field, 1)) - f.bias;
  return {kind::finite, false, field == 0 ? rest : one + rest, exponent - f.significand_bits};
}

/// The middle of a magnitude and the next one.
exact middle_above(number_type const& to, std::uint64_t code) {
  exact const low = on_grid(to, code);
  if (!to.format.has_zero()) return {kind::finite, false, 3, low.exponent - 1};
  return {kind::finite, false, 2 * low.significand + 1, low.exponent - 1};
}

/// All of one format of 8 or 16 bits.
words all_codes(number_type const& from) {
  words all;
  for (std::uint64_t c = 0; c <= from.code_mask(); ++c) all.push_back(c);
  return all;
}

}  // namespace

std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

words inputs_for(number_type const& from, number_type const& to) {
  if (from.bits() <= 16) return all_codes(from);
  words all{0};
  for (std::uint64_t const c : codes_of(to)) {
    add_around(all, from, on_grid(to, c));
    add_around(all, from, middle_above(to, c));
  }
  std::uint64_t const one = std::uint64_t{1} << from.format.significand_bits;
  for (std::uint64_t first = 0; first <= from.infinity_code(); first += one)
    for (std::uint64_t const c : {first - 1, first, first + 1})
      if (c <= from.infinity_code()) all.push_back(c);
  for (int bit = 0; bit < from.format.significand_bits; ++bit) {
    all.push_back(std::uint64_t{1} << bit);  // subnormal
    all.push_back(from.infinity_code() | std::uint64_t{1} << bit);
    all.push_back(from.infinity_code() | (one - (std::uint64_t{1} << bit)));
  }
  for (std::uint64_t k = 0; k < 4096; ++k) all.push_back(mixed(k) & from.magnitude_mask());
  std::size_t const magnitudes = all.size();
  for (std::size_t i = 0; i < magnitudes; ++i) all.push_back(all[i] | from.sign_mask());
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

words stochastic_inputs_for(number_type const& from, number_type const& to, std::uint64_t repeats) {
  words all;
  auto const add = [&](exact x, bool is_negative) {
    std::uint64_t const sign = is_negative ? from.sign_mask() : 0;
    place const at = locate(from, x);
    if (at.code > from.largest_code()) return;
    all.insert(all.end(), static_cast<std::size_t>(repeats), at.code | sign);
  };
  std::uint64_t const normal = to.least_normal_code(), most = to.largest_code();
  std::uint64_t const one = decode(to, normal).significand;
  // Subnormal, around 1, just below a power of two, next to the largest.
  std::uint64_t const unit = locate(to, {kind::finite, false, 1, 0}).code;
  for (std::uint64_t const low : {std::uint64_t{0}, normal / 2, unit, unit + one - 1, most - 1})
    for (bool const is_negative : {false, true}) {
      if (is_negative && !to.format.has_sign) continue;
      exact const at = on_grid(to, low);
      for (unsigned const part : {0u, 1u, 4u, 8u, 13u}) {  // of sixteenths of the gap
        exact x{kind::finite, is_negative, 16 * at.significand + part, at.exponent - 4};
        if (!to.format.has_zero()) x = {kind::finite, false, 16 + part, at.exponent - 4};
        if (x.significand != 0) add(x, is_negative);
      }
    }
  // A part below 2^-8 in many draws: who truncates random bits loses it.
  exact const at = on_grid(to, unit);
  if (from.format.significand_bits >= to.format.significand_bits + 12)
    for (int run = 0; run < 8; ++run)
      add({kind::finite, false, (at.significand << 12) + 15, at.exponent - 12}, false);
  // Exact values in most of the elements: a bias of 2^-16 moves some of them.
  std::size_t const others = all.size();
  while (all.size() < 2 * others) add(on_grid(to, unit + (all.size() / repeats) % 2), false);
  return all;
}

}  // namespace judge
