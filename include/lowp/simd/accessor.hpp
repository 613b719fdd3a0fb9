// SPDX-License-Identifier: Apache-2.0
// The accessor of one operand: loads, decodes, rounds, encodes and stores a range in lanes.
#pragma once

#include <lowp/simd/numbers.hpp>
#include <lowp/simd/packed_codes.hpp>
#include <lowp/simd/staging.hpp>

namespace lowp::simd {

using detail::nans;

template <class Isa, class Operand, nans Nans>
class accessor {
  using T = typename Operand::type;
  using storage = typename storage_of<T>::type;
  using rounding = rounding_type<Operand>;
  /// The hardware's prefetcher fails if a kernel computes random bits between its loads, or rounds
  /// what it loads. A kernel that only rounds what it stores is faster if it does not prefetch.
  static constexpr bool is_rounded_when_read =
      detail::plain_number<T> && !detail::is_always_a_float<T>;
  static constexpr auto batch_bytes = static_cast<int>(Operand::stored_in(batch<Isa>) * sizeof(T));

 public:
  using registers = typename Isa::registers;
  using F = pack<float, registers>;
  using U = word<registers>;
  using stored = detail::encoded<U, mask<registers>>;

  LOWP_HOST_FN accessor(Operand const& operand, loop_size size, staging<Isa, Operand>&& staged)
      : operand_(operand),
        staged_(staged.elements),
        results_(results_of(operand)),
        is_ieee_(is_ieee(operand)),
        streams_(may_stream && is_streamed(operand.data, size.whole * sizeof(T))),
        random_(operand.origin(), staged.random) {}

  /// The caller may begin several batches at once if the operand is not streamed.
  static constexpr bool may_be_stretched =
      !Operand::is_random && !is_rounded_when_read && !Operand::is_packed;
  /// Two packs that are stored at once share a test.
  static constexpr bool stores_in_order =
      Operand::is_written && is_rounded_by_addition<Isa, T, rounding>;
  /// Pairs of packs take less time than single ones.
  static constexpr bool may_be_paired =
      may_be_stretched || (Operand::is_packed && !Operand::is_random) || stores_in_order;
  LOWP_HOST_FN bool is_staged(bool if_apart) const { return streams_ || (if_apart && is_apart_); }

  /// @tparam Packs  the number of packs that are loaded and stored at once
  template <bool Prefetches, int Packs = 1>
  LOWP_HOST_FN void begin(std::size_t first, std::size_t valid,
                          [[maybe_unused]] batch_start<registers>&& start = {},
                          [[maybe_unused]] std::uint16_t* draws = nullptr) {
    at_ = operand_.at(first);
    if constexpr (Operand::is_packed) {
      if (Operand::is_read) {
        if (Prefetches) prefetch_ahead<batch_bytes>(at_);
        packed_codes<Isa, Operand>::unpack(staged_, operand_.at(first), valid);
      }
      at_ = staged_;
    } else {
      constexpr std::size_t step = Packs * Isa::lanes;
      if (valid % step != 0) {
        if (Operand::is_read)
          copy_in<registers>(staged_, at_, valid * sizeof(T),
                             (valid + step - 1) / step * step * sizeof(T));
        at_ = staged_;
      } else {
        if ((Prefetches || is_rounded_when_read) && Operand::is_read)
          prefetch_ahead<batch_bytes>(at_);
        if (is_apart_now(valid) && Operand::is_read)
          registers::enter(copy_call{staged_, at_, valid * sizeof(T), false});
        if (is_apart_now(valid) || is_streamed_now(valid)) at_ = staged_;
      }
    }
    if constexpr (Operand::is_random) {
      if (random_.is_on()) random_.next(static_cast<batch_start<registers>&&>(start), draws);
    }
  }
  LOWP_HOST_FN void end(std::size_t first, std::size_t valid, auto const&...) {
    if constexpr (Operand::is_written && Operand::is_packed) {
      packed_codes<Isa, Operand>::pack(operand_.at(first), staged_, valid);
    } else if constexpr (Operand::is_written) {
      if (at_ != staged_) return;
      if (is_apart_now(valid) || is_streamed_now(valid))
        registers::enter(
            copy_call{operand_.data + first, staged_, valid * sizeof(T), is_streamed_now(valid)});
      else
        copy_out<registers>(operand_.data + first, staged_, valid * sizeof(T));
    }
  }
  /// Lets batches from `first` lie in the staging if their lines meet those of another array. Other
  /// processors than AMD's do not pay for a call.
  LOWP_HOST_FN void look_out(std::size_t first, arrays_at_once& arrays) {
    is_apart_ = is_amd() && arrays.meets(operand_.at(first), sizeof(T)) && !streams_;
  }
  LOWP_HOST_FN void finish() const {
    if (may_stream && streams_) finish_streaming();
  }
  /// Prefetches what is read, if begin does not.
  LOWP_HOST_FN void prefetch(std::size_t first) const {
    if constexpr (Operand::is_read && !is_rounded_when_read)
      if (!is_amd()) fetch<3>(first + 2048 / sizeof(T), batch<Isa>);
  }

  template <int Locality = 2>
  LOWP_HOST_FN void fetch(std::size_t first, std::size_t count) const {
    simd::fetch<Locality>(operand_.at(first), Operand::stored_in(count) * sizeof(T));
  }

  /// Returns the codes, or a float's bit patterns, of the lanes from element k of the batch.
  LOWP_HOST_FN U codes(int k) const {
    if constexpr (narrow<T>)
      return U::load(at(k));
    else
      return lanes::bits(F::load(at(k)));
  }
  LOWP_HOST_FN static F decoded(U const& code) {
    if constexpr (narrow<T>)
      return lanes::from_bits<F>(detail::decode<T::descriptor>(code));
    else
      return lanes::from_bits<F>(code);
  }
  LOWP_HOST_FN F load(int k) const {
    if constexpr (!Operand::is_read) {
      return lanes::broadcast<F>(0);
    } else if constexpr (detail::plain_number<T>) {
      return load_rounded<Isa>(at(k), operand_.rounding, random_.at(k), operand_.policy);
    } else if constexpr (requires(F x, raw r) { Isa::decode(tag{}, x, r); }) {
      F x;
      Isa::decode(tag{}, x, raw::load(at(k)));
      return x;
    } else if constexpr (has_halves<registers, T>) {
      F x[1];
      decode_by_halves<T::descriptor>(x, at(k));
      return x[0];
    } else {
      return decoded(codes(k));
    }
  }

  /// True if pairs of packs may be words of two elements: see pairs.hpp. To nearest, a backend's
  /// instruction would be faster.
  static constexpr bool has_words = is_little && detail::has_last_place_of_floats<T> &&
                                    (!Operand::is_written || detail::draws_bits<rounding>);
  template <bool IsOfWords>
  LOWP_HOST_FN void load_pair(int k, F& first, F& second) const {
    if constexpr (IsOfWords && Operand::is_read) {
      auto const words = word_of_elements<U>(at(k));
      first = lanes::from_bits<F>(words << 16);
      second = lanes::from_bits<F>(words & upper_half);
    } else if constexpr (Operand::is_read && has_halves<registers, T, 2>) {
      F x[2];
      decode_by_halves<T::descriptor>(x, at(k));
      first = x[0];
      second = x[1];
    } else {
      first = load(k);
      second = load(k + Isa::lanes);
    }
  }

  /// Stores a code unchanged, for a caller that rounds elsewhere with random_bits.
  LOWP_HOST_FN void store_code(int k, U const& code) {
    if constexpr (narrow<T>)
      code.store(to(k));
    else
      lanes::from_bits<F>(code).store(to(k));
  }
  LOWP_HOST_FN U random_bits(int k) const {
    if constexpr (Operand::is_random)
      if (random_.is_on()) return U::load(random_.at(k));
    return lanes::broadcast<U>(0);
  }
  /// Returns the random bits of two packs as they lie in memory.
  LOWP_HOST_FN U random_numbers(int k) const {
    return random_.is_on() ? word_of_elements<U>(random_.at(k)) : lanes::broadcast<U>(0);
  }

  /// Rounds and stores, if this operand is written. Returns the stored codes only if ReturnsCode. A
  /// hardware instruction keeps a NaN as a conversion does, so the codec encodes a pack with a
  /// computed NaN.
  template <bool ReturnsCode>
  LOWP_HOST_FN stored store(int k, F const& value) {
    if constexpr (!ReturnsCode && has_instruction)
      if (store_by_instruction(k, value)) return {};
    if constexpr (!Operand::is_written) {
      return {};
    } else if constexpr (narrow<T>) {
      stored const s = detail::encode<T::descriptor, ReturnsCode>(
          lanes::bits(value), random_bits(k), operand_.rounding, results_);
      s.code.store(to(k));
      return s;
    } else if constexpr (std::is_same_v<T, double>) {
      lanes::widen(value).store(to(k));
      return {};
    } else {
      F const result = leaves_nan ? lanes::canonical(value) : value;
      result.store(to(k));
      U const zero = lanes::broadcast<U>(0);
      return {lanes::bits(result), lanes::greater(zero, zero)};
    }
  }
  /// Stores likewise, and returns the bits of the stored values in place of their codes.
  LOWP_HOST_FN stored store_value(int k, F const& value)
    requires(Operand::is_written && std::is_same_v<T, bfloat16> && !Operand::is_packed)
  {
    return store_bfloat16<Isa, stored>(to(k), value, random_bits(k), operand_.rounding, results_,
                                       is_ieee_);
  }
  template <bool IsOfWords>
  LOWP_HOST_FN void store_pair(int k, F const& first, F const& second) {
    if constexpr (IsOfWords && Operand::is_written) {
      store_words<T::descriptor>(to(k), first, second, word_of_elements<U>(random_.at(k)),
                                 operand_.rounding, results_);
    } else {
      if constexpr (stores_in_order) {
        auto const& mode = operand_.rounding;
        if (is_ieee_ || !std::is_same_v<T, bfloat16>) [[likely]] {
          if (store_in_order<Isa, T>(to(k), first, second, random_bits(k),
                                     random_bits(k + Isa::lanes), mode)) [[likely]]
            return;
        }
      } else if constexpr (has_instruction) {
        if (store_by_instruction(k, first) && store_by_instruction(k + Isa::lanes, second)) return;
      } else {
        store<false>(k, first);
        store<false>(k + Isa::lanes, second);
        return;
      }
      F const both[] = {first, second};
      LOWP_KEEP_LOOP
      for (int i = 0; i < 2; ++i) store<true>(k + i * Isa::lanes, both[i]);
    }
  }

 private:
  LOWP_HOST_FN storage const* at(int k) const { return static_cast<storage const*>(at_) + k; }
  LOWP_HOST_FN storage* to(int k) { return static_cast<storage*>(const_cast<void*>(at_)) + k; }

  LOWP_HOST_FN static detail::special_results<U> results_of(
      [[maybe_unused]] Operand const& operand) {
    if constexpr (narrow<T> && Operand::is_written)
      return detail::special_results_of<T::descriptor, U>(operand.rounding, operand.policy, Nans);
    else
      return {};
  }
  LOWP_HOST_FN static bool is_ieee([[maybe_unused]] Operand const& operand) {
    if constexpr (has_instruction || stores_in_order)
      return special_codes_of<T::descriptor>(operand.policy) ==
             standard_special_codes<T::descriptor>(false);
    else
      return false;
  }
  LOWP_HOST_FN bool store_by_instruction(int k, F const& value) {
    raw codes;
    if (!is_ieee_ || !Isa::template encode<leaves_nan>(tag{}, rounding{}, codes, value))
      return false;
    codes.store(to(k));
    return true;
  }

  LOWP_HOST_FN bool is_apart_now(std::size_t valid) const {
    return !is_lean<Isa> && is_apart_ && valid == std::size_t{batch<Isa>};
  }
  LOWP_HOST_FN bool is_streamed_now(std::size_t valid) const {
    return may_stream && streams_ && valid * sizeof(T) % 16 == 0;
  }

  // Streaming does not pay if random bits take longer than memory: Philox's in narrow registers.
  static constexpr bool may_stream =
      !is_lean<Isa> && !Operand::is_read && !Operand::is_packed &&
      (!Operand::is_random || Isa::lanes == 16 ||
       (Isa::lanes == 8 && std::is_same_v<rounding, stochastic_fast>));

  // The arguments of a backend's own instruction, if it has one.
  static constexpr bool leaves_nan = Nans == nans::canonical;
  using raw = pack<storage, registers>;
  using tag = std::type_identity<T>;
  static constexpr bool has_instruction = Operand::is_written && requires(F x, raw r) {
    Isa::template encode<leaves_nan>(tag{}, rounding{}, r, x);
  };

  Operand const& operand_;
  storage* staged_;
  detail::special_results<U> results_;
  void const* at_ = nullptr;
  bool is_ieee_ = false;  // special results are those of the hardware
  bool streams_, is_apart_ = false;
  [[no_unique_address]] random_of<Isa, Operand> random_;
};

}  // namespace lowp::simd
