// SPDX-License-Identifier: Apache-2.0
// Formats by name: here a name becomes a type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <lowp/format/overflow.hpp>
#include <lowp/io/safetensors/dtype.hpp>
#include <lowp/measure/census/census_report.hpp>
#include <lowp/quantization/quantized.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// The rounding of a tensor.
struct rounding_of_tensor {
  bool is_stochastic = false;
  bool is_fast = false;  ///< with the draws of stochastic_fast
  std::uint64_t seed = 0, stream = 0;
  std::optional<lowp::overflow> overflow;  ///< none: the format's default
};

/// Facts of a format, as numbers.
struct format_facts {
  int significand_bits, min_exponent, max_exponent;  ///< exponents of normal values
  double largest, smallest_normal, smallest;
  bool has_infinity, has_nan;
};

/// The layout of codes with scales of blocks in a file: see block_scales.hpp.
struct block_layout {
  unsigned size;  ///< elements of a block
  lowp::safetensors::dtype scales;
  std::string_view codes_suffix, scales_suffix, global_suffix;  ///< of the tensors' names
  /// Returns the scale for all that the file has; `largest` is the tensor's largest magnitude.
  float (*global)(float largest);
  /// Writes the codes and scales of `in`, the first of which is element `first` of its tensor. If
  /// `read` is not empty, it gets their values.
  lowp::quantization_report (*quantize)(std::span<float const> in, lowp::amax const& largest,
                                        std::uint64_t first, rounding_of_tensor const& how,
                                        std::span<std::byte> codes, std::span<std::byte> scales,
                                        std::span<float> read);
};

struct target {
  std::string_view name;  ///< as lowp spells it
  std::optional<lowp::safetensors::dtype>
      type;  ///< none: an audit can be taken, a file cannot hold it
  format_facts facts;
  lowp::range_census (*census)(std::span<float const> in);
  /// The largest power of two with which |x| <= largest does not overflow; 1 for float.
  float (*scale)(lowp::amax const& largest);
  /// out: the codes of `in`, the first of which is element `first` of its tensor.
  void (*round)(std::span<float const> in, std::uint64_t first, rounding_of_tensor const& how,
                std::span<std::byte> out);
  /// The same from doubles, rounded once.
  void (*round_doubles)(std::span<double const> in, std::uint64_t first,
                        rounding_of_tensor const& how, std::span<std::byte> out);
  block_layout const* blocks = nullptr;  ///< null: one tensor has all
};

/// Returns the format of two with fewer significand bits.
format_facts const& narrower(format_facts const& a, format_facts const& b);

/// Returns the format of a type whose elements are floating-point numbers with a sign; null else.
format_facts const* facts_of(lowp::safetensors::dtype type);

std::span<target const* const> all_targets();
/// "float16, bfloat16, ..."
std::string names_of_targets();
/// Null if no target has that name.
target const* target_named(std::string_view name);
