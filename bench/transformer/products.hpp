// SPDX-License-Identifier: Apache-2.0
// Matrix products whose operands are quantized first. The product itself is fp32.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "../training/layers.hpp"

namespace transformers {

using matrix = training::matrix<float>;

/// The operands of the products of a layer y = W x. `activation` and `gradient` are x and dy; those
/// `across` are the operands of dW, which sums over tokens.
enum class operand { weight, activation, gradient, activation_across, gradient_across };

/// The key of the random bits of one operand.
struct draw {
  std::uint64_t seed, step;
  std::uint32_t which;
};

/// Rounds an operand of a product that sums over its rows: blocks lie in its columns.
class operand_rounding {
 public:
  virtual ~operand_rounding() = default;
  virtual void round(operand what, draw const& random, matrix& columns) const = 0;
};

struct product_format {
  std::string_view name, text;
  std::unique_ptr<operand_rounding> (*make)();  ///< null if operands stay as they are
};

/// All that are compared; the first rounds nothing.
std::span<product_format const> product_formats();

}  // namespace transformers
