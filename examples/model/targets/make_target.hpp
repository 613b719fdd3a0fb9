// SPDX-License-Identifier: Apache-2.0
// A format's entry in the list of targets. Each use is a dozen kernels, so they are spread over
// units.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstring>
#include <limits>
#include <lowp/cast.hpp>
#include <lowp/format/random.hpp>
#include <lowp/measure.hpp>
#include <vector>

#include "targets/make_facts.hpp"
#include "targets/targets.hpp"

template <class T>
lowp::range_census census_in(std::span<float const> in) {
  return lowp::census<T>(in);
}

template <class T>
float scale_in(lowp::amax const& largest) {
  if constexpr (lowp::scalable<T>)
    return lowp::power_of_two_scale<T>(largest);
  else
    return 1;
}

/// The elements of a tensor in a file, which packs those of fewer than 8 bits.
template <class T>
inline constexpr bool is_packed = !lowp::safetensors::stored<T>;

template <class T>
auto elements_at(std::span<std::byte> bytes, std::size_t count) {
  if constexpr (is_packed<T>)
    return lowp::packed<T>(bytes, count);
  else
    return std::span<T>(reinterpret_cast<T*>(bytes.data()), count);
}

inline void saturate(std::span<float> x) {
  constexpr float largest = std::numeric_limits<float>::max();
  for (float& each : x) each = std::clamp(each, -largest, largest);
}

template <class T>
void round_to(std::span<float const> in, std::uint64_t first, rounding_of_tensor const& how,
              std::span<std::byte> out) {
  if constexpr (std::same_as<T, float>) {
    std::memcpy(out.data(), in.data(), in.size_bytes());
    if (how.overflow == lowp::overflow::saturate) saturate(elements_at<T>(out, in.size()));
  } else {
    auto const policy = how.overflow.value_or(lowp::default_overflow<T>);
    if (how.is_fast)
      lowp::cast(in, elements_at<T>(out, in.size()),
                 lowp::stochastic_fast{.seed = how.seed, .stream = how.stream, .offset = first},
                 policy);
    else if (how.is_stochastic)
      lowp::cast(in, elements_at<T>(out, in.size()),
                 lowp::stochastic{.seed = how.seed, .stream = how.stream, .offset = first}, policy);
    else
      lowp::cast(in, elements_at<T>(out, in.size()), lowp::nearest_even{}, policy);
  }
}

template <class T>
void round_doubles_to(std::span<double const> in, std::uint64_t first,
                      rounding_of_tensor const& how, std::span<std::byte> out) {
  if constexpr (std::same_as<T, float>) {
    auto const to = elements_at<T>(out, in.size());
    for (std::size_t i = 0; i < in.size(); ++i) to[i] = static_cast<float>(in[i]);
    if (how.overflow == lowp::overflow::saturate) saturate(to);
  } else {
    std::vector<T> to(in.size());
    auto const policy = how.overflow.value_or(lowp::default_overflow<T>);
    lowp::random_source const random{how.seed, how.stream, 0, how.is_fast};
    for (std::size_t i = 0; i < in.size(); ++i)
      to[i] = how.is_stochastic
                  ? lowp::convert<T>(
                        in[i], lowp::stochastic_bits{static_cast<std::uint16_t>(random(first + i))},
                        policy)
                  : lowp::convert<T>(in[i], lowp::nearest_even{}, policy);
    lowp::cast(to, elements_at<T>(out, in.size()));
  }
}

/// For a format that only an audit can have as its target.
template <class T>
constexpr target audited(std::string_view name) {
  return {name, {}, make_facts<T>(), census_in<T>, scale_in<T>, nullptr, nullptr};
}
template <class T>
constexpr target stored(std::string_view name) {
  return {name,
          lowp::safetensors::detail::type_of<T>,
          make_facts<T>(),
          census_in<T>,
          scale_in<T>,
          round_to<T>,
          round_doubles_to<T>};
}
