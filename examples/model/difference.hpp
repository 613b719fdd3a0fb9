// SPDX-License-Identifier: Apache-2.0
// Compares two models.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "files/model.hpp"
#include "files/text.hpp"
#include "pages/progress.hpp"

/// The difference of two tensors of the same name.
struct tensor_difference {
  enum class kind {
    none,  ///< the same type, shape, scale and bits
    only_in_a,
    only_in_b,
    shape,
    bytes,  ///< of a type that is not compared as numbers, or of two of which one is none
    values
  };
  kind what = kind::none;
  model::entry const *a = nullptr, *b = nullptr;

  // Set if they are compared as numbers:
  double largest = 0, mean = 0;  ///< distance in ulps of the format with fewer significand bits
  lowp::safetensors::dtype ulps_of = lowp::safetensors::dtype::f32;
  std::uint64_t at = 0;             ///< number of the element with the largest distance
  double value_a = 0, value_b = 0;  ///< there
  std::uint64_t unequal = 0;  ///< elements that are no equal numbers; elsewhere bytes that differ
  /// NaN or infinite in one and not, or not the same, in the other; they have no distance.
  std::uint64_t not_finite = 0;
  std::uint64_t not_finite_in_both = 0;  ///< of these

  [[nodiscard]] std::string const& name() const { return (a != nullptr ? a : b)->name(); }
  /// Counts elements that have a distance; if it is 0, `at` is no place.
  [[nodiscard]] std::uint64_t finite_unequal() const { return unequal - not_finite; }
  [[nodiscard]] bool is_within(double ulps) const;
};

/// Refers to the models.
struct difference {
  std::vector<tensor_difference> tensors;  ///< those that differ, worst first
  std::uint64_t equal = 0;                 ///< tensors that do not
  std::vector<std::string> metadata;       ///< names of texts that differ, scales apart
};

difference compare(model const& a, model const& b, progress& bar);

/// "[3, 17]" for the place of element `number`; "[]" for a scalar.
std::string place_in(std::vector<std::uint64_t> const& shape, std::uint64_t number);

/// "only in the first", "shape", ...
std::string_view name_of(tensor_difference::kind what);

/// @param top  how many tensors; 0: all
void write_report(difference const& d, std::size_t top, sink const& to);
