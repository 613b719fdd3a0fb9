// SPDX-License-Identifier: Apache-2.0
// Formats by name, as data, with the codes of their special results: here a name becomes numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <lowp/format/overflow.hpp>
#include <span>
#include <string>
#include <string_view>

namespace judge {

/// A policy by its name, and the library that has it.
struct named_policy {
  lowp::overflow policy;
  std::string_view name, whose;
};
std::span<named_policy const> policies();

struct number_type {
  std::string_view name;
  lowp::format format;  ///< float32 and float64 are wider than the library's formats
  /// The codes of special results under a policy; of the library's formats, and IEEE's of others.
  lowp::special_codes (*special)(lowp::overflow policy);

  [[nodiscard]] unsigned bits() const { return static_cast<unsigned>(format.bits()); }
  [[nodiscard]] unsigned bytes() const {
    return bits() <= 8 ? 1 : bits() <= 16 ? 2 : bits() <= 32 ? 4 : 8;
  }
  [[nodiscard]] std::uint64_t magnitude_mask() const {
    return (std::uint64_t{1} << format.magnitude_bits()) - 1;
  }
  [[nodiscard]] std::uint64_t sign_mask() const {
    return format.has_sign ? std::uint64_t{1} << format.magnitude_bits() : 0;
  }
  [[nodiscard]] std::uint64_t code_mask() const { return magnitude_mask() | sign_mask(); }
  [[nodiscard]] std::uint64_t infinity_code() const {
    return magnitude_mask() ^ ((std::uint64_t{1} << format.significand_bits) - 1);
  }
  [[nodiscard]] std::uint64_t largest_code() const {
    return bits() > 16 ? infinity_code() - 1 : format.max_code();
  }
  [[nodiscard]] std::uint64_t least_normal_code() const {
    return format.has_zero() ? std::uint64_t{1} << format.significand_bits : 0;
  }
};

std::span<number_type const> all_types();
/// @throws problem  no format has that name
number_type const& type_named(std::string_view name);
std::string names_of_types();

}  // namespace judge
