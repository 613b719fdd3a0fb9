// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "vectors.hpp"

namespace judge {

namespace {

using word = std::uint32_t;

/// The first 32 bits of the fraction of a root of the n-th prime, by an integer search.
constexpr word root_of(unsigned prime, int power) {
  __extension__ typedef unsigned __int128 wide;
  std::uint64_t low = 0, high = std::uint64_t{1} << 37;  // floor(root * 2^32)
  while (high - low > 1) {
    std::uint64_t const middle = (low + high) / 2;
    wide square = static_cast<wide>(middle) * middle;
    // middle^3 <= prime * 2^96 without its low bits would overflow: compare quotients.
    bool const is_less = power == 2 ? square <= static_cast<wide>(prime) << 64
                                    : square <= (static_cast<wide>(prime) << 96) / middle;
    (is_less ? low : high) = middle;
  }
  return static_cast<word>(low);
}

constexpr std::array<unsigned, 64> primes = [] {
  std::array<unsigned, 64> found{};
  std::size_t count = 0;
  for (unsigned n = 2; count < found.size(); ++n) {
    bool is_prime = true;
    for (std::size_t i = 0; i < count; ++i) is_prime = is_prime && n % found[i] != 0;
    if (is_prime) found[count++] = n;
  }
  return found;
}();

}  // namespace

std::string sha256(std::string const& bytes) {
  static std::array<word, 64> const k = [] {
    std::array<word, 64> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = root_of(primes[i], 3);
    return all;
  }();
  std::array<word, 8> h{};
  for (std::size_t i = 0; i < h.size(); ++i) h[i] = root_of(primes[i], 2);
  std::string padded = bytes + '\x80';
  padded.append((120 - padded.size() % 64) % 64, '\0');
  for (int shift = 56; shift >= 0; shift -= 8)
    padded += static_cast<char>(std::uint64_t{bytes.size()} * 8 >> shift & 0xff);
  for (std::size_t at = 0; at < padded.size(); at += 64) {
    std::array<word, 64> w{};
    for (std::size_t i = 0; i < 64; ++i)
      w[i / 4 % 16] = w[i / 4 % 16] << 8 | static_cast<unsigned char>(padded[at + i]);
    for (std::size_t i = 16; i < 64; ++i) {
      word const a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
             (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
    }
    auto s = h;
    for (std::size_t i = 0; i < 64; ++i) {
      word const e = s[4], a = s[0];
      word const t = s[7] + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                     ((e & s[5]) ^ (~e & s[6])) + k[i] + w[i];
      word const u = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) +
                     ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
      s = {t + u, s[0], s[1], s[2], s[3] + t, s[4], s[5], s[6]};
    }
    for (std::size_t i = 0; i < h.size(); ++i) h[i] += s[i];
  }
  std::string hex;
  for (word const x : h)
    for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[x >> shift & 15];
  return hex;
}

}  // namespace judge
