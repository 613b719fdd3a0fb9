// SPDX-License-Identifier: Apache-2.0
// Rows of numbers that differ by a few ulps, and their moments from exact integers.
#pragma once

#include <lowp/value.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "row_support.hpp"

namespace lowp_test {

// Element i is base + ulps[i] * unit. Its code is at most four away from that of `base`. The
// smallest distance of two such numbers is `unit`.
template <class T>
struct nearly_equal_row {
  static constexpr std::uint32_t most_codes = 4;
  static constexpr int most_ulps = 8;  // a binade above, ulps are twice as large

  std::vector<T> x;
  std::vector<int> ulps;
  long double base, unit;
  std::int64_t sum = 0, squares = 0;  // of ulps

  // At most `places` elements differ from `code`.
  nearly_equal_row(std::uint32_t code, std::size_t columns, std::size_t places,
                   std::mt19937& random)
      : x(columns, number_of(code)), base(float(x[0])) {
    std::uint32_t const below = std::min(code, most_codes);
    std::uint32_t const above = std::min(code_of(std::numeric_limits<T>::max()) - code, most_codes);
    unit = float(number_of(code - below + 1)) - static_cast<long double>(number_of(code - below));
    bool const are_alike = random() % 2 == 0;
    std::uint32_t const one_away =
        above == 0 || (below != 0 && random() % 2 == 0) ? below - 1 : below + 1;
    for (std::size_t i = 0; i < places; ++i)
      x[places == columns ? i : random() % columns] = number_of(
          code - below +
          (are_alike ? one_away : static_cast<std::uint32_t>(random()) % (below + above + 1)));
    for (T const each : x) {
      int const k = static_cast<int>((float(each) - base) / unit);
      ulps.push_back(k);
      sum += k;
      squares += k * k;
    }
  }

  [[nodiscard]] long double columns() const { return static_cast<long double>(x.size()); }
  [[nodiscard]] long double mean() const { return base - centered(0); }
  // The distance from the mean of an element with these ulps.
  [[nodiscard]] long double centered(int of) const {
    return static_cast<long double>(of * size() - sum) / columns() * unit;
  }
  [[nodiscard]] long double deviation() const {
    return std::sqrt(static_cast<long double>(squares * size() - sum * sum)) / columns() * unit;
  }
  [[nodiscard]] long double mean_square() const {
    return base * base + unit / columns() *
                             (2 * base * static_cast<long double>(sum) +
                              unit * static_cast<long double>(squares));
  }
  [[nodiscard]] long double largest() const {
    return base + unit * *std::max_element(ulps.begin(), ulps.end());
  }

 private:
  static T number_of(std::uint32_t code) {
    if constexpr (std::same_as<T, float>)
      return float_of(code);
    else
      return of_code<T>(code);
  }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(x.size()); }
};

// visit(row, eps): rows of every magnitude, subnormal to largest, `step` binades apart. Short ones
// come with each eps, and beside every other magnitude a long one.
template <class T, class Visit>
void over_nearly_equal_rows(Visit const& visit, std::uint32_t step = 1) {
  constexpr float all_eps[] = {0, 1e-40f, 1e-12f, 1e-5f};
  constexpr std::size_t lengths[] = {2, 3, 5, 16, 100, 257, 1000};
  constexpr std::size_t long_lengths[] = {4096, 8193, 10000, 65536, 131072};
  constexpr int significand = std::numeric_limits<T>::digits - 1;
  constexpr std::uint32_t ones = (1U << significand) - 1;
  std::uint32_t const last = code_of(std::numeric_limits<T>::max()) >> significand;
  std::mt19937 random(17);
  auto const run = [&](std::uint32_t code, std::size_t columns, float eps) {
    std::size_t const places[] = {0, 1, 2, columns / 2, columns};
    visit(nearly_equal_row<T>(code, columns, places[random() % 5], random), eps);
  };
  std::size_t turn = 0;
  for (std::uint32_t exponent = 0; exponent <= last; ++exponent) {
    if (exponent % step != 0 && exponent != last) continue;
    std::uint32_t const of_binade = exponent << significand;
    auto const drawn = static_cast<std::uint32_t>(random());
    std::uint32_t const codes[] = {of_binade | (drawn & ones), of_binade, of_binade | ones,
                                   of_binade | (drawn & 7)};
    for (std::size_t const columns : lengths)
      for (float const eps : all_eps) run(codes[random() % 4], columns, eps);
    if (turn++ % 2 == 0)
      run(codes[random() % 4], long_lengths[turn / 2 % 5], all_eps[random() % 4]);
  }
}

}  // namespace lowp_test
