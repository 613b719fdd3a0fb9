// SPDX-License-Identifier: Apache-2.0
// The advice on a tensor and on a list, and its text.
#pragma once

#include <lowp/base/text.hpp>
#include <lowp/ops/tensor_list.hpp>
#include <lowp/train/stall_estimate.hpp>

namespace lowp {

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

namespace detail::inline LOWP_SHARED {

error_text check_update(typical_update const& update, number_range directions = above_zero);
/// Refuses updates that are not one right update for each tensor.
void check_updates(std::span<typical_update const> updates, std::size_t tensors);

/// The advice on the tensors of a list so far. Its functions are templates, so that only units that
/// call them compile them.
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

LOWP_LIB void check_updates(std::span<typical_update const> updates, std::size_t tensors) {
  if (updates.size() != tensors)
    refuse_if(joined_text(
        {"stall_advice: ", updates.size(), " updates for a list of ", tensors, " tensors"}));
  for (typical_update const& each : updates) refuse_if(check_update(each, not_negative));
}

LOWP_LIB list_advisor::list_advisor(std::span<typical_update const> updates, std::size_t tensors)
    : updates_(updates) {
  check_updates(updates, tensors);
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
