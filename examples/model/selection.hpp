// SPDX-License-Identifier: Apache-2.0
// Selects the tensors of a plan, and the scale by which each is rounded.
#pragma once

#include <limits>
#include <lowp/measure/census/census_report.hpp>
#include <memory>
#include <string>
#include <vector>

#include "files/model.hpp"
#include "options.hpp"
#include "pages/progress.hpp"
#include "targets/targets.hpp"

class selection {
 public:
  /// @throws problem  --keep is no regular expression
  explicit selection(plan const& what);
  ~selection();
  selection(selection const&) = delete;
  selection& operator=(selection const&) = delete;

  /// Numbers to be rounded: floating-point, in no --keep, and whole blocks in a row if the target
  /// has any. Others stay as they are.
  [[nodiscard]] bool has(model::entry const& e) const;

 private:
  struct pattern;
  std::vector<std::unique_ptr<pattern>> keep_;
  target const& to_;
};

/// A census, and its range as doubles: no float is as large, or as small, as a value of F64 may be.
struct tensor_census {
  lowp::range_census counts;
  double min_abs = std::numeric_limits<double>::infinity(), max_abs = 0;
  lowp::quantization_report blocks{};  ///< if the target has scales of blocks

  tensor_census& operator+=(tensor_census const& other);
};

/// The census of all of a tensor's values times `factor`. A target with scales of blocks has no
/// factor. The tensor is then quantized, which decides overflow, flushed values and errors. Nothing
/// is subnormal. It reads the tensor twice.
tensor_census census_of(model const& from, model::entry const& of, target const& to, float factor,
                        progress& bar);

/// Returns the largest magnitude of a tensor, infinite if an element is.
lowp::amax largest_of(lowp::range_census const& c);

/// Returns whether a scale may save something: values beyond the format, or that lose bits at its
/// lower end.
bool may_gain(lowp::range_census const& c);
