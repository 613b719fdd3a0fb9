// SPDX-License-Identifier: Apache-2.0
// The element function of operations that read for a report. And sums of packs, a batch at a time,
// that add terms unchecked. A batch whose sum is infinite or NaN is added again, pack by pack. A
// batch for which float is too narrow is added again in double.
#pragma once

#include <lowp/base/environment.hpp>
#include <lowp/measure/reports.hpp>
#include <lowp/ops/storage_operands.hpp>

#if !defined(__CUDA_ARCH__)
#include <lowp/simd/pack.hpp>

namespace lowp::detail {

LOWP_EXACT_BEGIN

/// The precision flag of MXCSR (Intel SDM volume 1, 10.2.3.1), in a kernel, which has set MXCSR: it
/// shows, at no cost, that sums in float were exact. Values go through memory, so compilers move no
/// operation on them across `clear` or `is_set_by`. Other operations may set the flag without need.
/// Other processors show nothing.
struct rounding_flag {
  template <class V>
  LOWP_HOST_FN static V clear(V x) {
#if defined(__SSE__)
    std::uint32_t const state = default_environment::mxcsr;
    asm volatile("ldmxcsr %1" : "+m"(x.v) : "m"(state));
#endif
    return x;
  }
  template <class V>
  LOWP_HOST_FN static bool is_set_by([[maybe_unused]] V const& a, [[maybe_unused]] V const& b) {
    std::uint32_t state = 0;
#if defined(__SSE__)
    asm volatile("stmxcsr %0" : "=m"(state) : "m"(a.v), "m"(b.v));
#endif
    constexpr std::uint32_t precision = 0x20;
    return (state & precision) != 0;
  }
};

/// Sums in double precision: finite if and only if all terms are. Two sums, of alternate packs,
/// shorten the chain of additions: a batch of 16 packs needs 8 each.
template <class F>
class wide_sums {
  using D = lanes::wide<F>;

 public:
  LOWP_FN void add(F const& a, F const& b) {
    even_ = lanes::add(even_, lanes::widen(a));
    odd_ = lanes::add(odd_, lanes::widen(b));
  }
  LOWP_FN void add(factors<F> const& a, factors<F> const& b) {
    even_ = lanes::add_product(even_, lanes::widen(a.a), lanes::widen(a.b));
    odd_ = lanes::add_product(odd_, lanes::widen(b.a), lanes::widen(b.b));
  }
  LOWP_FN D sum() const { return lanes::add(even_, odd_); }

 private:
  D even_ = lanes::broadcast<D>(0), odd_ = lanes::broadcast<D>(0);
};

template <class F>
struct wide_squares : wide_sums<F> {
  amax_lanes<F> largest;  ///< counts if no term is NaN

  LOWP_FN void add(F const& a, F const& b) {
    largest.add_number(a);
    largest.add_number(b);
    wide_sums<F>::add(factors<F>{a, a}, factors<F>{b, b});
  }
};

/// Sums of a few narrow numbers in float. They are exact unless some numbers are thousands of times
/// as small as others.
template <class F>
class narrow_sums {
 public:
  LOWP_FN narrow_sums() : even_(rounding_flag::clear(lanes::broadcast<F>(0))), odd_(even_) {}
  LOWP_FN void add(F const& a, F const& b) {
    even_ = lanes::add(even_, a);
    odd_ = lanes::add(odd_, b);
  }
  LOWP_FN bool are_exact() const { return !rounding_flag::is_set_by(even_, odd_); }
  LOWP_FN lanes::wide<F> sum() const { return lanes::add(lanes::widen(even_), lanes::widen(odd_)); }

  /// Returns true if inexact sums can be seen. Valgrind, for one, adds correctly but sets no flag.
  LOWP_FN static bool may_be_trusted() {
    F const one = lanes::broadcast<F>(1), little = lanes::broadcast<F>(0x1p-30f);
    narrow_sums sums;
    sums.add(one, one);
    sums.add(little, little);
    return !sums.are_exact();
  }

 private:
  F even_, odd_;
};

/// Sums of batches. A few are added plainly before they enter a sum in twice the precision. The
/// error is below 15 * 2^-53 of the magnitudes: 7 additions in a batch, one of two sums, 7 here.
template <class Isa>
class batch_sums {
  using D = simd::wide<Isa>;

 public:
  /// Returns false, and adds nothing, if a lane is infinite or NaN.
  LOWP_FN bool add(D const& sum) {
    if (!is_finite(sum)) [[unlikely]]
      return false;
    sum_ = lanes::add(sum_, sum);
    if (++batches_ == most) end_few();
    return true;
  }
  LOWP_FN void add_to(compensated_sum& total) {
    end_few();
    all_.add_to(total);
  }

 private:
  static constexpr int most = 8;

  LOWP_FN void end_few() {
    all_.add(sum_);
    sum_ = lanes::broadcast<D>(0);
    batches_ = 0;
  }
  /// Adds a one to the exponent. An exponent of all ones carries into the sign.
  LOWP_FN static bool is_finite(D const& x) {
    using U = simd::word<Isa>;
    typedef std::uint64_t words __attribute__((vector_size(sizeof(x.v[0]))));
    constexpr std::uint64_t one = std::uint64_t{1} << 52, exponent = 0x7ff * one;
    words const low = (words(x.v[0]) & exponent) + one, high = (words(x.v[1]) & exponent) + one;
    auto const signs = U::of(typename U::vector(low | high));
    return !lanes::any(lanes::greater(lanes::broadcast<U>(0), signs));
  }

  D sum_ = lanes::broadcast<D>(0);
  compensated_lanes<D> all_;
  int batches_ = 0;
};

template <class Isa>
class sum_of_batches : public sum_lanes<simd::pack<float, Isa>> {
  using F = simd::pack<float, Isa>;

 public:
  using of_batches = void;

  /// Returns false if the caller must add pack by pack.
  template <bool IsNarrow, class Batch>
  LOWP_FN bool add_batch(Batch const& batch) {
    if constexpr (IsNarrow && std::same_as<typename Batch::observed, F>) {
      if (waiting_ != 0)
        --waiting_;
      else if (narrow_sums<F> sums; add_exact(batch, sums))
        return sums_.add(sums.sum());
    }
    wide_sums<F> sums;
    batch.add_to(sums);
    return sums_.add(sums.sum());
  }
  LOWP_FN partial_sum total(std::uint64_t count) {
    partial_sum partial = sum_lanes<F>::total(count);
    sums_.add_to(partial.finite);
    return partial;
  }

 private:
  /// Doubles the number of batches that skip this, each time in a row that float is too narrow.
  LOWP_FN bool add_exact(auto const& batch, narrow_sums<F>& sums) {
    batch.add_to(sums);
    bool const is_exact = sums.are_exact();
    waiting_ = is_exact ? 0 : next_waiting_;
    next_waiting_ = is_exact ? 1 : 2 * next_waiting_;
    return is_exact;
  }

  batch_sums<Isa> sums_;
  int waiting_ = narrow_sums<F>::may_be_trusted() ? 0 : never, next_waiting_ = 1;
  static constexpr int never = 1 << 30;
};

template <class Isa>
class gradients_of_batches : public gradient_lanes<simd::pack<float, Isa>> {
  using F = simd::pack<float, Isa>;

 public:
  using of_batches = void;

  template <bool, class Batch>
  LOWP_FN bool add_batch(Batch const& batch) {
    wide_squares<F> squares;
    batch.add_to(squares);
    if (!squares_.add(squares.sum())) [[unlikely]]
      return false;
    this->largest_.add(squares.largest);
    return true;
  }
  LOWP_FN partial_gradients total(std::uint64_t count) {
    partial_gradients partial = gradient_lanes<F>::total(count);
    squares_.add_to(partial.squares);
    return partial;
  }

 private:
  batch_sums<Isa> squares_;
};

LOWP_EXACT_END

template <class Isa>
struct lanes_of_report<sum_report, simd::pack<float, Isa>>
    : std::type_identity<sum_of_batches<Isa>> {};
template <class Isa>
struct lanes_of_report<gradient_report, simd::pack<float, Isa>>
    : std::type_identity<gradients_of_batches<Isa>> {};

}  // namespace lowp::detail

#endif

namespace lowp::detail {

struct measuring {
  LOWP_FN auto operator()(auto const& x) const { return x; }
  template <class F>
  LOWP_FN factors<F> operator()(F const& a, F const& b) const {
    return {a, b};
  }
};

/// A variable of a report that is of these counts and a type, such as census_report<float16>.
template <class R, class Counts>
concept report_of_type = std::is_lvalue_reference_v<R> && !std::same_as<R, Counts&> &&
                         std::convertible_to<std::remove_reference_t<R>*, Counts*>;

}  // namespace lowp::detail
