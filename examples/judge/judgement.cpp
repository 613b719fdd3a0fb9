// SPDX-License-Identifier: Apache-2.0
#include "judgement.hpp"

#include <algorithm>
#include <numeric>

#include "model/files/problem.hpp"
#include "program.hpp"

namespace judge {

namespace {

constexpr std::size_t block = 4096;
constexpr std::uint64_t sample = std::uint64_t{1} << 20;

/// A rule of numbers, and how many results differ from it: those in range, and under each group of
/// policies the others.
struct candidate {
  number_rule rule;
  std::uint64_t in_range = 0;
  std::vector<std::uint64_t> special;

  [[nodiscard]] std::uint64_t least() const {
    return in_range + *std::ranges::min_element(special);
  }
};

class search {
 public:
  search(number_type const& from, number_type const& to)
      : from_(from), to_(to), groups_(policy_groups(to)), rules_(nan_rules(from, to)) {
    for (number_rule const& r : number_rules(from, to))
      candidates_.push_back({r, 0, std::vector<std::uint64_t>(groups_.size())});
    of_policy_.resize(groups_.size());
    of_rule_.resize(rules_.size());
  }

  void add(std::uint64_t in, std::uint64_t out) {
    exact const x = decode(from_, in);
    if (x.what == kind::nan) {
      for (std::size_t g = 0; g < groups_.size(); ++g)
        of_policy_[g] += code_of_nan(to_, x, groups_[g].codes) != out;
      for (std::size_t k = 0; k < rules_.size(); ++k)
        of_rule_[k] += rules_[k].result(from_, to_, in) != out;
      return;
    }
    numbers_.push_back({x, out});
    if (numbers_.size() == block) flush();
  }

  void flush() {
    for (candidate& c : candidates_)
      for (auto const& [x, out] : numbers_) {
        rounded const r = c.rule(from_, to_, x);
        if (r.what == rounded::outcome::in_range)
          c.in_range += r.code != out;
        else
          for (std::size_t g = 0; g < groups_.size(); ++g)
            c.special[g] += finished(to_, r, groups_[g].codes) != out;
      }
    numbers_.clear();
    std::uint64_t least = ~std::uint64_t{0};
    for (candidate const& c : candidates_) least = std::min(least, c.least());
    std::erase_if(candidates_, [&](candidate const& c) { return c.least() > 2 * least + 256; });
  }

  [[nodiscard]] judgement result(std::uint64_t count) const {
    judgement best{{}, count, ~std::uint64_t{0}};
    auto const consider = [&](std::size_t g, std::uint64_t of_nan, std::optional<nan_rule> nans) {
      for (candidate const& c : candidates_) {
        std::uint64_t const differing = c.in_range + c.special[g] + of_nan;
        if (differing < best.differing) best = {{c.rule, groups_[g], nans}, count, differing};
      }
    };
    for (std::size_t g = 0; g < groups_.size(); ++g) consider(g, of_policy_[g], {});
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (std::size_t k = 0; k < rules_.size(); ++k) consider(g, of_rule_[k], rules_[k]);
    if (best.rule.nans) {  // no policy is told apart by NaNs that none makes
      lowp::special_codes const mine = best.rule.policy.codes;
      best.rule.policy.members.clear();
      for (policy_group const& g : groups_)
        if (g.codes.overflowed == mine.overflowed && g.codes.infinite == mine.infinite &&
            g.codes.below == mine.below)
          best.rule.policy.members.insert(best.rule.policy.members.end(), g.members.begin(),
                                          g.members.end());
    }
    return best;
  }

 private:
  struct number {
    exact x;
    std::uint64_t out;
  };
  number_type const &from_, &to_;
  std::vector<policy_group> groups_;
  std::vector<nan_rule> rules_;
  std::vector<candidate> candidates_;
  std::vector<std::uint64_t> of_policy_, of_rule_;
  std::vector<number> numbers_;
};

std::size_t class_of(number_type const& to, exact const& x) {
  if (x.what == kind::nan) return 6;
  if (x.what == kind::infinity) return 5;
  if (x.what == kind::zero) return 0;
  if (round_to(to, x, mode::nearest_even).what != rounded::outcome::in_range) return 4;
  place const at = locate(to, x);
  if (at.is_exact) return 0;
  if (at.versus_half == 0) return 2;
  return at.code < to.least_normal_code() ? 3 : 1;
}

}  // namespace

std::vector<policy_group> policy_groups(number_type const& to) {
  std::vector<policy_group> groups;
  for (named_policy const& p : policies()) {
    bool const is_general =
        p.policy == lowp::overflow::infinity || p.policy == lowp::overflow::saturate;
    bool const is_p3109 = p.whose == "IEEE P3109";
    if (is_p3109 ? !to.format.has_one_nan() : !is_general && !to.format.has_sign) continue;
    lowp::special_codes const codes = to.special(p.policy);
    auto const same = std::ranges::find(groups, codes, &policy_group::codes);
    if (same != groups.end())
      same->members.push_back(&p);
    else
      groups.push_back({codes, {&p}});
  }
  return groups;
}

std::uint64_t whole_rule::operator()(number_type const& from, number_type const& to,
                                     std::uint64_t code) const {
  exact const x = decode(from, code);
  if (x.what != kind::nan) return finished(to, numbers(from, to, x), policy.codes);
  return nans ? nans->result(from, to, code) : code_of_nan(to, x, policy.codes);
}

std::string whole_rule::text() const {
  std::string text = "  " + numbers.text() + "\n";
  for (named_policy const* const p : policy.members)
    text += "  " + std::string(p->name) + " (" + std::string(p->whose) + ")\n";
  if (nans) text += "  but " + std::string(nans->text) + "\n";
  return text;
}

judgement judge_results(number_type const& from, number_type const& to, column const& in,
                        column const& out) {
  std::uint64_t const n = in.size();
  search all(from, to);
  // In an order that meets every part of a sorted file soon.
  std::uint64_t step = n / 2 + n / 8 + 1;
  while (n > 1 && std::gcd(step, n) != 1) ++step;
  for (std::uint64_t i = 0, at = 0; i < std::min(n, sample); ++i, at = (at + step) % n)
    all.add(in[at], out[at]);
  all.flush();
  if (n <= sample) return all.result(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    if (i % block == 0 && stop) throw interruption();
    all.add(in[i], out[i]);
  }
  all.flush();
  judgement found = all.result(n);
  found.differing = differences_from(found.rule, from, to, in, out).total();
  return found;
}

std::uint64_t differences::total() const {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::string grouped(std::uint64_t n) {
  std::string text = std::to_string(n);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string differences::text(number_type const& from, number_type const& to) const {
  std::string text = "  by class:";
  for (std::size_t k = 0; k < classes.size(); ++k)
    if (counts[k] != 0) text += " " + std::string(classes[k]) + " " + grouped(counts[k]);
  text += "\n";
  auto const bits = [](number_type const& t, std::uint64_t code) {
    char shown_bits[20];
    std::snprintf(shown_bits, sizeof shown_bits, "%0*llx", static_cast<int>(t.bits() + 3) / 4,
                  static_cast<unsigned long long>(code));
    return "0x" + std::string(shown_bits) + " (" + shown(t, code) + ")";
  };
  for (example const& e : first)
    text += "  " + bits(from, e.in) + " became " + bits(to, e.out) + "; right is " +
            bits(to, e.right) + "\n";
  return text;
}

differences differences_from(whole_rule const& rule, number_type const& from, number_type const& to,
                             column const& in, column const& out) {
  differences d;
  for (std::uint64_t i = 0; i < in.size(); ++i) {
    std::uint64_t const right = rule(from, to, in[i]);
    if (right == out[i]) continue;
    ++d.counts[class_of(to, decode(from, in[i]))];
    if (d.first.size() < 3) d.first.push_back({in[i], out[i], right});
  }
  return d;
}

}  // namespace judge
