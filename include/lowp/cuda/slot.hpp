// SPDX-License-Identifier: Apache-2.0
// One operand of a kernel: what is the same for all its elements, and the registers of one group.
#pragma once

#include <lowp/codec.hpp>
#include <lowp/cuda/random.hpp>
#include <lowp/simd/operand.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace lowp::cuda {

using simd::access;

/// How kernels round: nearest even and stochastic have code of their own, the other modes share some.
template <class R>
struct kernel_rounding {
  using type = rounding_mode;
};
template <class R>
  requires detail::one_of<R, nearest_even, stochastic> || detail::settles<R>
struct kernel_rounding<R> {
  using type = R;
};

// What rounds, and where its random bits come from. A mode that is read from device memory says both
// in its own way: see replay.hpp.
template <class R>
LOWP_FN decltype(auto) mode_of(R const& rounding) {
  if constexpr (detail::settles<R>)
    return rounding.mode_when_settled();
  else
    return (rounding);
}
template <class R>
using mode_type = std::remove_cvref_t<decltype(mode_of(std::declval<R const&>()))>;

struct random_origin {
  bool is_on = false;
  stochastic source{0};
};
LOWP_FN random_origin origin_of(stochastic const& mode) { return {true, mode}; }
LOWP_FN random_origin origin_of(rounding_mode const& mode) {
  stochastic const* const source = mode.random();
  return source == nullptr ? random_origin{} : random_origin{true, *source};
}
template <detail::settles R>
LOWP_FN random_origin origin_of(R const& rounding) {
  return rounding.settled();
}

/// What is special about an element type for the converting instructions of a GPU: they convert as a
/// kernel must, to nearest even, up to this magnitude. All of them give a NaN another code.
template <format F>
LOWP_FN constexpr std::uint32_t convertible_limit(detail::special_results<std::uint32_t> const& s) {
  // PTX ISA, cvt: to 8 bits always .satfinite, to 16 bits never.
  std::uint32_t const beyond = F.bits() == 8 ? F.max_code() : F.infinity_code();
  bool const alike = s.overflowed[0] == beyond && s.infinite == beyond;
  return alike ? lanes::binary32_infinity : detail::decode<F>(F.max_code());
}

/// The part of an operand that every thread is given.
template <element T, access A, class R = nearest_even>
struct slot {
  using type = T;
  using rounding_type = R;
  static constexpr bool is_read = A != access::write;
  static constexpr bool is_written = A != access::read;
  static constexpr bool is_random = is_written && narrow<T> && mode_type<R>::is_stochastic;

  R rounding;
  std::uint32_t draw;
  std::uint32_t limit;
  detail::special_results<std::uint32_t> results;

  /// `is_computed`: a NaN is a result, and not what was converted.
  template <class From>
  static slot of(simd::operand<T, A, From> const& o, bool is_computed) {
    slot s{R(o.rounding), o.draw, 0, {}};
    if constexpr (is_written && narrow<T>) {
      constexpr format F = T::descriptor;
      s.results = detail::special_results_of<F, std::uint32_t>(o.rounding, o.policy);
      if (is_computed) {
        s.results.nan[1] = s.results.nan[0];
        s.results.nan_payload = 0;
      }
      s.limit = convertible_limit<F>(s.results);
    }
    return s;
  }
};

/// One operand's next groups, one a row, in the registers of a thread. Hardware has what converts
/// pairs:
///
///     encode(std::type_identity<T>, float, float) -> two codes, to nearest even
///     encode(std::type_identity<T>, float, float, 32 random bits) -> two codes, stochastic
///     decode(std::type_identity<T>, two codes, float&, float&), for codes that are not NaN
template <class Slot, bool IsComputed, class Hardware, int Rows>
class port {
  using T = typename Slot::type;
  using tag = std::type_identity<T>;
  using rounding = mode_type<typename Slot::rounding_type>;
  static constexpr bool encodes =
      std::same_as<rounding, nearest_even> && requires(float x) { Hardware::encode(tag{}, x, x); };
  static constexpr bool encodes_randomly = std::same_as<rounding, stochastic> && requires(float x) {
    Hardware::encode(tag{}, x, x, std::uint32_t{});
  };
  static constexpr bool decodes =
      requires(float x) { Hardware::decode(tag{}, std::uint32_t{}, x, x); };

 public:
  static constexpr bool is_read = Slot::is_read;
  static constexpr bool is_written = Slot::is_written;

  struct stored {
    std::uint32_t code;
    bool overflowed;
  };

  /// Of tensor `number` in a list, whose elements begin at `data`.
  LOWP_FN port(Slot const& s, void* data, std::uint32_t number)
      : slot_(s), data_(static_cast<T*>(data)) {
    if constexpr (Slot::is_random) {
      origin_ = origin_of(s.rounding);
      origin_.source = origin_.source.of_tensor(number);
    }
  }

  template <int Width, class Thread>
  LOWP_FN void load(int row, Thread const& thread, std::uint64_t first, int count) {
    if constexpr (is_read) {
      if (count == group_size)
        before_[row].template load<access_bytes<T>(Width)>(thread, data_ + first);
      else
        before_[row].load_first(count, thread, data_ + first);
    }
  }
  template <int Width, class Thread>
  LOWP_FN void store(Thread const& thread, std::uint64_t first, int count) const {
    if constexpr (is_written) {
      if (count == group_size)
        after_.template store<access_bytes<T>(Width)>(thread, data_ + first);
      else
        after_.store_first(count, thread, data_ + first);
    }
  }

  LOWP_FN std::uint32_t code(int row, int k) const { return before_[row].code(k); }
  LOWP_FN static float decoded(std::uint32_t code) {
    if constexpr (narrow<T>)
      return lanes::from_bits<float>(detail::decode<T::descriptor>(code));
    else
      return lanes::from_bits<float>(code);
  }

  LOWP_FN void decode(int row, float (&x)[group_size]) const {
    group<T> const& codes = before_[row];
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < group_size; k += 2) {
      if constexpr (decodes) {
        constexpr std::uint32_t magnitudes = T::descriptor.magnitude_mask();
        constexpr std::uint32_t least_nan = T::descriptor.codes == specials::ieee
                                                ? T::descriptor.infinity_code() + 1
                                                : T::descriptor.nan_code();
        if ((codes.code(k) & magnitudes) < least_nan &&
            (codes.code(k + 1) & magnitudes) < least_nan) {
          Hardware::decode(tag{}, codes.pair(k), x[k], x[k + 1]);
          continue;
        }
      }
      x[k] = decoded(codes.code(k));
      x[k + 1] = decoded(codes.code(k + 1));
    }
  }

  /// Random bits for the elements from `first` on, where the mode wants any.
  LOWP_FN group_bits bits(std::uint64_t first) const {
    if constexpr (Slot::is_random) {
      stochastic const& source = origin_.source;
      if (origin_.is_on)
        return {random_source{source.seed, source.stream, slot_.draw}, source.offset + first};
    }
    return {};
  }

  LOWP_FN void encode(float const (&x)[group_size], std::uint64_t first) {
    if constexpr (is_written) {
      after_ = {};
      group_bits const random = bits(first);
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < group_size; k += 2) {
        if constexpr (encodes || encodes_randomly) {
          std::uint32_t const larger =
              lanes::max(lanes::magnitude(x[k]), lanes::magnitude(x[k + 1]));
          if (larger <= slot_.limit) {
            if constexpr (encodes)
              after_.set_pair(k, Hardware::encode(tag{}, x[k], x[k + 1]));
            else
              after_.set_pair(
                  k, Hardware::encode(tag{}, x[k], x[k + 1], random(k + 1) << 16 | random(k)));
            continue;
          }
        }
        set(k, x[k], random(k));
        set(k + 1, x[k + 1], random(k + 1));
      }
    }
  }

  /// One element, and what became of it.
  LOWP_FN stored set(int k, float x, std::uint32_t random) {
    if constexpr (narrow<T>) {
      auto const result = detail::encode<T::descriptor>(lanes::bits(x), random,
                                                        mode_of(slot_.rounding), slot_.results);
      after_.set(k, result.code);
      return {result.code, result.overflowed};
    } else {
      std::uint32_t const code = lanes::bits(IsComputed ? lanes::canonical(x) : x);
      after_.set(k, code);
      return {code, false};
    }
  }
  LOWP_FN void clear() { after_ = {}; }

 private:
  Slot const& slot_;
  T* data_;
  random_origin origin_;
  group<T> before_[Rows], after_;
};

}  // namespace lowp::cuda
