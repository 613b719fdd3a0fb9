// SPDX-License-Identifier: Apache-2.0
// The value of an additive attention mask at a masked score.
#pragma once

#include <lowp/format/math.hpp>

namespace lowp {

/// A type for an additive mask. A quarter of its range far exceeds every x whose e^-x is not 0.
template <class T>
concept maskable =
    element<T> && std::numeric_limits<T>::is_signed &&
    (std::same_as<T, float> || std::numeric_limits<T>::max_exponent >= 9);  // as <limits> counts it

/// The value that masks: -3/4 of the largest finite value, rounded toward zero; -49120 in float16.
/// Adding a score of at most a quarter of the range does not overflow. The softmax of a masked
/// score is 0 beside a score that is not masked.
///
/// The smallest finite value, a common choice, has no room: in float16 -65504 - 16 is -infinity,
/// and a row of those is NaN (huggingface/transformers, pull request 17306).
template <maskable T>
inline constexpr T mask_value =
    convert<T>(-0.75 * static_cast<double>(std::numeric_limits<T>::max()), toward_zero{});

}  // namespace lowp
