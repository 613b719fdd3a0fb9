// SPDX-License-Identifier: Apache-2.0
// The advice on a tensor and on a list, its text, and the stalls of each way to keep them.
#pragma once

#include <lowp/base/text.hpp>
#include <lowp/train/least_update.hpp>
#include <lowp/train/typical_update.hpp>

namespace lowp {

/// The stalls of one way to keep a tensor, over all its finite elements, up and down.
struct stall_estimate {
  double stalled = 0;  ///< share of elements that a step leaves unchanged; expected if stochastic
  double lost = 0;     ///< share whose updates leave no trace, under any random numbers
  /// Share that is left behind. Stochastic: elements that fewer than 10 of all the steps are
  /// expected to change. Else: of the sum of |update|, the part whose updates leave no trace.
  double rare = 0;
  double lr_any = 0;   ///< smallest rate at which not all is lost
  double lr_half = 0;  ///< smallest rate at which half is not lost (rounded up to 8 bits)
  double lr_all = 0;   ///< smallest rate at which nothing is lost; else infinite
};

struct storage_advice {
  std::uint64_t count = 0;      ///< elements
  std::uint64_t nonfinite = 0;  ///< infinite or NaN elements, which are in no share
  std::array<stall_estimate, kept_ways.size()> estimates{};
  /// The smallest way whose `rare` is tolerated (of equal ones the first of kept_as), else fp32.
  kept_as choice = kept_as::fp32;

  LOWP_HOST_FN stall_estimate const& operator[](kept_as way) const {
    return estimates[static_cast<std::size_t>(way)];
  }
};

inline namespace LOWP_SHARED {

/// The way to keep a list of tensors, and the tensors that need it.
struct list_advice {
  kept_as choice = kept_as::fp32;  ///< the smallest way that all tensors tolerate, else fp32
  kept_as smaller = choice;  ///< of the smaller ways, the one that the fewest tensors rule out ...
  std::vector<std::string> decided_by{};  ///< ... and these: 'name', or a number without a name
  std::vector<storage_advice> tensors{};  ///< in the list's order

  /// Returns "split 16+8; without 'a', 'b', 'c' and 9 more: bf16 stochastic".
  [[nodiscard]] std::string text() const;
};

}  // namespace LOWP_SHARED

#if !defined(LOWP_COMPILED)  // run_compiled has it

namespace detail::inline LOWP_UNIT {

LOWP_EXACT_BEGIN

/// The requests of a typical update. Element `index` has one of the sizes, all equally often.
class request_sizes {
 public:
  struct request {
    double share, direction;
    float update;
  };

  request_sizes(double lr, double mean, std::span<float const> spread) {
    std::vector<float> const normal = spread.empty() ? normal_spread() : std::vector<float>();
    if (spread.empty()) spread = {normal.data(), normal.size()};
    double sum = 0;
    for (float const each : spread) {
      double const share = as_double(each), direction = mean * share;
      sum += share;
      requests_.push_back({share, direction, narrowed(lr * direction)});
    }
    mean_ = narrowed(lr * mean * sum / static_cast<double>(requests_.size()));
  }
  [[nodiscard]] request const& operator[](std::uint64_t index) const {
    std::uint64_t const turn = index * 0x9E3779B9 & 0xffffffff;  // steps of the golden ratio
    return requests_[static_cast<std::size_t>(turn * requests_.size() >> 32)];
  }
  [[nodiscard]] float mean() const { return mean_; }
  /// Returns how often n elements are counted, so that all sizes occur among few elements.
  [[nodiscard]] std::uint64_t turns(std::uint64_t n) const {
    return requests_.size() == 1 || n == 0 ? 1 : 1 + 1023 / n;
  }

 private:
  std::vector<request> requests_;
  float mean_;
};

/// Counts the smallest updates that leave a trace, beside those requested.
class threshold_counts {
 public:
  void add(float threshold, request_sizes::request const& asked) {
    ++count_;
    if (!(asked.direction > 0)) return;
    std::uint32_t const bits = lanes::bits(threshold);
    double const rate = bits == lanes::binary32_infinity ? std::numeric_limits<double>::infinity()
                                                         : as_double(threshold) / asked.direction;
    if (rate < least_) least_ = rate;
    if (most_ < rate) most_ = rate;
    rates_.add(lanes::bits(narrowed(rate)));
    asked_ += asked.share;
    if (bits <= lanes::bits(asked.update)) return;
    ++above_;
    lost_ += asked.share;
  }
  /// Adds an element of a stochastic way, which a step changes for `draws` of 65536 random numbers.
  void add_draws(float draws) { stays_ += 65536 - as_double(draws); }
  void add_typical_draws(float draws, double steps) {
    rare_ += steps * as_double(draws) < 10 * 65536 ? 1u : 0u;
  }

  [[nodiscard]] stall_estimate estimate(bool is_stochastic) const {
    if (rates_.count() == 0) return {};
    auto const n = static_cast<double>(count_);
    double const lost = static_cast<double>(above_) / n;
    double const half = as_double(lanes::from_bits<float>(rates_.median_end()));
    return {.stalled = is_stochastic ? stays_ / (65536 * n) : lost,
            .lost = lost,
            .rare = is_stochastic ? static_cast<double>(rare_) / n : lost_ / asked_,
            .lr_any = least_,
            .lr_half = half < least_  ? least_
                       : most_ < half ? most_
                                      : half,
            .lr_all = most_};
  }

 private:
  magnitude_bins rates_;
  std::uint64_t count_ = 0, above_ = 0, rare_ = 0;
  double least_ = std::numeric_limits<double>::infinity(), most_ = 0;
  double asked_ = 0, lost_ = 0, stays_ = 0;
};

/// Counts the thresholds of finite floats, for one way to keep them.
/// @param first  number of the first of p
template <kept_as Way>
void count_thresholds(std::span<float const> p, request_sizes const& sizes, std::uint64_t first,
                      double steps, float scale, threshold_counts& counts) {
  std::vector<float> least(p.size()), u(p.size());
  for (toward const direction : {toward::plus_infinity, toward::minus_infinity}) {
    bool const is_up = direction == toward::plus_infinity;
    auto const asked = [&](std::size_t place) -> auto& {
      return sizes[2 * (first + place) + (is_up ? 1 : 0)];
    };
    least_updates<Way>(p, direction, least, scale);
    for (std::size_t i = 0; i < p.size(); ++i) counts.add(least[i], asked(i));
    if constexpr (facts_of(Way).is_stochastic) {
      auto layout = layout_of_way<Way>(scale);
      auto const draw = [&](auto const& update) {
        for (std::size_t place = 0; place < p.size(); ++place)
          u[place] = is_up ? update(place) : -update(place);
        transform(draws_that_move<decltype(layout)>{layout}, nearest_even{}, least, p, u);
      };
      draw([&](std::size_t place) { return asked(place).update; });
      for (std::size_t i = 0; i < p.size(); ++i)
        if (asked(i).direction > 0) counts.add_draws(least[i]);
      draw([&](std::size_t) { return sizes.mean(); });
      for (float const each : least) counts.add_typical_draws(each, steps);
    }
  }
}

LOWP_EXACT_END

}  // namespace detail::inline LOWP_UNIT

#endif

namespace detail::inline LOWP_SHARED {

error_text check_update(typical_update const& update, number_range directions = above_zero);

/// The advice on a list's tensors so far. As templates, its functions compile only where called.
class list_advisor {
 public:
  /// @throws std::invalid_argument  updates are not one right update for each tensor
  list_advisor(std::span<typical_update const> updates, std::size_t tensors);
  list_advisor(list_advisor const&) = delete;
  ~list_advisor();

  [[nodiscard]] typical_update const& update() const { return updates_[tensors_.size()]; }
  template <class Name>
  void add(Name name, storage_advice const& tensor);
  template <class Name = std::string_view>
  [[nodiscard]] list_advice advice() const;

 private:
  std::span<typical_update const> updates_;
  std::vector<storage_advice> tensors_;
  std::vector<std::string> names_;
};

#if defined(LOWP_BODIES)

LOWP_COLD LOWP_LIB error_text check_update(typical_update const& update, number_range directions) {
  constexpr char const* function = "stall_advice";
  error_text wrong = check_numbers(function, {{"lr", update.lr, above_zero},
                                              {"direction", update.direction, directions},
                                              {"tolerance", update.tolerance, above_zero}});
  double sum = update.spread.empty() ? 1 : 0, largest = sum;
  for (float const each : update.spread) {
    if (wrong.empty()) wrong = check_numbers(function, {{"spread", each}});
    sum += as_double(each);
    if (largest < as_double(each)) largest = as_double(each);
  }
  if (!wrong.empty()) return wrong;
  double const request = update.lr * update.direction;
  return check_numbers(function, {{"spread's sum", sum, above_zero},
                                  {"lr * direction", request, directions},
                                  {"lr * direction * spread", request * largest}});
}

LOWP_LIB list_advisor::list_advisor(std::span<typical_update const> updates, std::size_t tensors)
    : updates_(updates) {
  if (updates.size() != tensors)
    refuse(joined_text(
        {"stall_advice: ", updates.size(), " updates for a list of ", tensors, " tensors"}));
  for (typical_update const& each : updates) refuse_if(check_update(each, not_negative));
}
LOWP_LIB list_advisor::~list_advisor() = default;
template <class Name>
LOWP_LIB void list_advisor::add(Name name, storage_advice const& tensor) {
  names_.push_back(std::string(name));
  tensors_.push_back(tensor);
}
template <class Name>
LOWP_LIB list_advice list_advisor::advice() const {
  int least_bytes = 2;
  for (typical_update const& each : updates_)
    if (least_bytes < each.least_bytes) least_bytes = each.least_bytes;
  list_advice result;
  for (storage_advice const& each : tensors_) result.tensors.push_back(each);
  for (std::size_t way = 0; way < kept_ways.size(); ++way) {
    if (kept_ways[way].bytes < least_bytes) continue;
    std::vector<std::string> against;
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (!(tensors_[i].estimates[way].rare <= updates_[i].tolerance))
        against.push_back(text_of_tensor(names_[i], i));
    result.choice = static_cast<kept_as>(way);
    if (against.empty() || result.choice == kept_as::fp32) break;
    if (!result.decided_by.empty() && against.size() >= result.decided_by.size()) continue;
    result.smaller = result.choice;
    result.decided_by = std::move(against);
  }
  return result;
}
#if defined(LOWP_PART_shared)
template void list_advisor::add(std::string_view, storage_advice const&);
template list_advice list_advisor::advice<std::string_view>() const;
#endif

#endif

}  // namespace detail::inline LOWP_SHARED

#if defined(LOWP_BODIES)
LOWP_LIB std::string list_advice::text() const {
  std::string result(facts_of(choice).name);
  std::size_t const all = decided_by.size(), named = all == 4 ? 4 : std::min<std::size_t>(all, 3);
  for (std::size_t i = 0; i < named; ++i)
    result.append(i == 0 ? "; without " : ", ").append(decided_by[i]);
  if (decided_by.empty()) return result;
  if (named < all) result += detail::joined_text({" and ", all - named, " more"}).c_str();
  return result.append(": ").append(facts_of(smaller).name);
}
#endif

}  // namespace lowp
