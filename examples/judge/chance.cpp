// SPDX-License-Identifier: Apache-2.0
#include "chance.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "judgement.hpp"

namespace judge {

namespace {

constexpr double unlikely = 1e-6;  // a p-value below it refuses a rule
constexpr double many_deviations = 6;
constexpr int lags = 64;
constexpr std::uint64_t few = 64;  // draws of a value that are too few

double two_sided(double z) { return std::erfc(std::fabs(z) / std::sqrt(2.0)); }

/// The probability of a larger sum of squares: E. B. Wilson and M. M. Hilferty, 1931.
double p_value_of(double sum, double terms) {
  double const v = 2 / (9 * terms);
  return std::erfc((std::cbrt(sum / terms) - (1 - v)) / std::sqrt(2 * v)) / 2;
}

/// The draws of one input.
struct draws {
  std::uint64_t low = 0, high = 0;  ///< codes of its neighbours
  double part = 0;                  ///< the exact probability of `high`
  std::uint64_t count = 0, ups = 0, strangers = 0;
};

draws draws_of(number_type const& to, exact const& x) {
  place const at = locate(to, x);
  auto const code = [&](mode m) { return converted(to, x, m, lowp::overflow::infinity); };
  return {code(mode::toward_zero),
          code(x.is_negative ? mode::downward : mode::upward),
          at.is_exact ? 0 : std::ldexp(static_cast<double>(at.part), -32),
          0,
          0,
          0};
}

/// The probability that a rule gives a value whose exact one is `part`.
struct law {
  std::string text;
  double (*probability)(double part, int bits);
  int bits;
};
std::vector<law> laws() {
  std::vector<law> all{
      {"stochastic: each neighbour by its distance", [](double part, int) { return part; }, 0}};
  for (int bits = 12; bits >= 1; --bits)
    all.push_back(
        {"stochastic with " + std::to_string(bits) + " random bits: the rest is truncated",
         [](double part, int n) { return std::ldexp(std::floor(std::ldexp(part, n)), -n); }, bits});
  return all;
}

double fit(law const& l, std::map<std::uint64_t, draws> const& all) {
  double sum = 0, terms = 0, least = 1;
  for (auto const& [in, d] : all) {
    if (d.count < few || d.part == 0) continue;
    double const p = l.probability(d.part, l.bits), n = static_cast<double>(d.count);
    double const off = static_cast<double>(d.ups) - n * p;
    if (p == 0 || p == 1) {
      if (off != 0) return 0;
      continue;
    }
    double const square = off * off / (n * p * (1 - p));
    sum += square;
    ++terms;
    least = std::min(least, two_sided(std::sqrt(square)));
  }
  // A single value may tell, too: its p-value times their number (C. E. Bonferroni).
  return terms == 0 ? 1 : std::min(p_value_of(sum, terms), least * terms);
}

std::string line_of(number_type const& from, std::uint64_t in, draws const& d) {
  double const n = static_cast<double>(d.count), k = static_cast<double>(d.ups) / n;
  double const spread = std::sqrt(d.part * (1 - d.part) / n);
  char text[200];
  std::snprintf(text, sizeof text, "  %14s %8llu %9.5f %9.5f %+10.5f %9.5f %9.5f %9.2g\n",
                shown(from, in).substr(0, 14).c_str(), static_cast<unsigned long long>(d.count), k,
                d.part, k - d.part, k * (1 - k), d.part * (1 - d.part),
                spread == 0 ? (d.ups == 0 ? 1.0 : 0.0) : two_sided((k - d.part) / spread));
  return text;
}

/// The draw at a place less its mean, in deviations; none if the value has one result.
class deviations {
 public:
  deviations(std::map<std::uint64_t, draws> const& all, column const& in) : all_(all), in_(in) {}
  [[nodiscard]] double of(column const& out, std::uint64_t i) const {
    draws const& d = all_.at(in_[i]);
    if (d.part == 0) return 0;
    return ((out[i] == d.high ? 1 : 0) - d.part) / std::sqrt(d.part * (1 - d.part));
  }
  [[nodiscard]] bool draws_at(std::uint64_t i) const {
    auto const found = all_.find(in_[i]);
    return found != all_.end() && found->second.part != 0;
  }

 private:
  std::map<std::uint64_t, draws> const& all_;
  column const& in_;
};

std::string text_of_lag(int lag, double correlation) {
  char text[120];
  std::snprintf(text, sizeof text, "  bits are shared: draws %d apart have a correlation of %.3f\n",
                lag, correlation);
  return text;
}

}  // namespace

bool is_stochastic(number_type const& from, column const& in, column const& out) {
  std::unordered_map<std::uint64_t, std::uint64_t> first;
  std::uint64_t const most = std::min<std::uint64_t>(in.size(), std::uint64_t{1} << 22);
  for (std::uint64_t i = 0; i < most; ++i)
    if (auto const [at, is_new] = first.try_emplace(in[i], out[i]);
        !is_new && at->second != out[i] && decode(from, in[i]).what == kind::finite)
      return true;
  return false;
}

chance_verdict judge_chances(number_type const& from, number_type const& to, column const& in,
                             column const& out, column const* again) {
  std::map<std::uint64_t, draws> all;
  for (std::uint64_t i = 0; i < in.size(); ++i) {
    exact const x = decode(from, in[i]);
    if (x.what != kind::finite) continue;
    auto const [at, is_new] = all.try_emplace(in[i]);
    draws& d = at->second;
    if (is_new) d = draws_of(to, x);
    ++d.count;
    if (d.part != 0 ? out[i] == d.high : out[i] != d.low)
      ++d.ups;
    else
      d.strangers += out[i] != d.low;
  }
  std::string text =
      "           value    draws   away of exact part       bias  variance     exact   p-value\n";
  std::uint64_t strangers = 0, exact_draws = 0, moved = 0;
  for (auto const& [in_code, d] : all) {
    strangers += d.strangers;
    if (d.part == 0) exact_draws += d.count, moved += d.ups;
    if (d.count >= few) text += line_of(from, in_code, d);
  }
  chance_verdict verdict{true, ""};
  auto const say = [&](bool is_named, std::string const& what) {
    verdict.is_named = verdict.is_named && is_named;
    verdict.text += "  " + what + "\n";
  };
  if (strangers != 0)
    say(false, grouped(strangers) + " results are no neighbours of their numbers");
  std::optional<double> p_value;
  for (law const& l : laws())
    if (double const p = fit(l, all); p > unlikely) {
      char number[40];
      std::snprintf(number, sizeof number, "; p-value %.2g", p);
      say(true, l.text + number);
      p_value = p;
      break;
    }
  if (!p_value) say(false, "no probabilities of a rule: see the bias of each value");
  if (moved != 0) {
    double const share = static_cast<double>(moved) / static_cast<double>(exact_draws);
    say(true, "a bias of about 2^" + std::to_string(std::lround(std::log2(share))) +
                  ": exact values moved in " + grouped(moved) + " of " + grouped(exact_draws) +
                  " draws");
  }

  deviations const z(all, in);
  std::array<double, lags + 1> sums{}, counts{};
  double repeated = 0, pairs = 0;
  for (std::uint64_t i = 0; i < in.size(); ++i) {
    if (!z.draws_at(i)) continue;
    double const here = z.of(out, i);
    if (again != nullptr) repeated += here * z.of(*again, i), ++pairs;
    for (std::size_t lag = 1; lag <= lags && i + lag < in.size() && in[i + lag] == in[i]; ++lag)
      sums[lag] += here * z.of(out, i + lag), ++counts[lag];
  }
  auto const deviation = [&](std::size_t lag) {
    return counts[lag] == 0 ? 0 : std::fabs(sums[lag]) / std::sqrt(counts[lag]);
  };
  std::size_t worst = 1;
  for (std::size_t lag = 2; lag <= lags; ++lag)
    if (deviation(lag) > deviation(worst)) worst = lag;
  if (deviation(worst) > many_deviations) {
    verdict.text += text_of_lag(static_cast<int>(worst), sums[worst] / counts[worst]);
    verdict.is_named = false;
  }
  if (again != nullptr && std::fabs(repeated) > many_deviations * std::sqrt(pairs))
    say(false, "bits are repeated between the two calls");
  verdict.text = grouped(in.size()) + " draws:\n" + verdict.text + text;
  return verdict;
}

}  // namespace judge
