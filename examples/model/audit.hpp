// SPDX-License-Identifier: Apache-2.0
// Tells how rounding to a format would change each tensor of a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "figures.hpp"
#include "files/model.hpp"
#include "options.hpp"
#include "pages/progress.hpp"
#include "targets/targets.hpp"

struct tensor_audit {
  model::entry const* of = nullptr;
  /// The largest power of two with which nothing overflows, so with which least is lost at the
  /// other end. It is 1 if without a scale nothing overflows, is flushed or becomes subnormal. A
  /// float's range has the last word: a value beyond it, as F64 may have, still overflows.
  float scale = 1;
  std::vector<figures> found;  ///< one, or two if the scale is not 1

  std::optional<lowp::quantization_report> blocks{};  ///< if the target has scales of blocks

  [[nodiscard]] figures const& as_it_is() const { return found.front(); }
  /// The census of the values times `scale`.
  [[nodiscard]] figures const& with_scale() const { return found.back(); }
  [[nodiscard]] figures const& chosen(bool is_scaled) const {
    return is_scaled ? with_scale() : as_it_is();
  }
};

/// Refers to the model.
struct audit {
  target const* to = nullptr;
  std::string path;
  std::vector<tensor_audit> tensors;     ///< worst first, by what is lost as it is
  std::vector<std::string_view> others;  ///< names of those that would stay as they are
  figures as_it_is, with_scale;          ///< of all
  lowp::quantization_report blocks{};    ///< of all
};

audit take_audit(model const& of, plan const& what, progress& bar);
