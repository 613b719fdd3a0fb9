// SPDX-License-Identifier: Apache-2.0
// The random Hadamard transform of successive elements, as a range that is computed while it is
// read.
#pragma once

#include <lowp/ops/cast.hpp>
#include <lowp/quantization/scale_rules.hpp>
#include <lowp/simd/accessor.hpp>

namespace lowp {

/// The signs of a random Hadamard transform. A block x of Points elements becomes
///
///     y = x * diag(before) * H * diag(after) / sqrt(Points)
///
/// H is Sylvester's matrix. Bit i is set if element i changes its sign.
template <int Points>
  requires(Points == 16 || Points == 32)
struct hadamard_signs {
  std::uint32_t before = 0, after = 0;

  /// Returns the signs of the transform that undoes this one.
  LOWP_FN constexpr hadamard_signs inverse() const { return {after, before}; }
};

/// The signs that Transformer Engine 2.20 has in its code for operands of weight gradients.
inline constexpr hadamard_signs<16> te_2_20_signs{0xd7e8};

/// Elements of a range, transformed and rounded to Rounded, to nearest even. `quantize` takes it as
/// its input, and counts the largest magnitude after the transform:
///
///     quantize(rotated(x, te_2_20_signs), q, recipes::te_2_20_nvfp4);
///
/// With elements of bfloat16 this is what Transformer Engine quantizes: see `hadamard`.
template <element T, int Points, element Rounded = T>
struct rotated {
  using value_type = T;
  using rounded_type = Rounded;
  static constexpr int points = Points;

  std::span<T const> elements;
  hadamard_signs<Points> signs;

  LOWP_HOST_FN rotated(input auto const& in, hadamard_signs<Points> const& of_blocks)
      : elements(detail::explicit_data(std::ranges::data(in)), std::ranges::size(in)),
        signs(of_blocks) {}

  [[nodiscard]] LOWP_HOST_FN detail::error_text invalid() const {
    std::size_t const size = elements.size();
    if (size % Points == 0) return {};
    return detail::joined_text({size, " elements are no whole blocks of ", std::size_t{Points}});
  }
};
template <input In, int Points>
rotated(In const&, hadamard_signs<Points> const&)
    -> rotated<detail::explicit_of<element_of<In>>, Points>;

namespace simd {

template <class T, int Points, class Rounded>
struct rotated_operand {
  static constexpr bool is_read = true, is_written = false, is_random = false;

  operand<T, access::read> elements;
  hadamard_signs<Points> signs;

  /// Returns the rest after the first `count` elements, a multiple of Points.
  LOWP_HOST_FN rotated_operand after(std::size_t count) const {
    return {elements.after(count), signs};
  }
};

template <class T, int Points, class Rounded>
LOWP_HOST_FN void visit_arrays(rotated_operand<T, Points, Rounded> const& o, std::size_t count,
                               auto const& visit) {
  visit_arrays(o.elements, count, visit);
}

#if !defined(__CUDA_ARCH__)

template <class Isa, class T, int Points, class Rounded>
struct staging<Isa, rotated_operand<T, Points, Rounded>> {
  staging<Isa, operand<T, access::read>> elements;
  alignas(64) float values[batch<Isa>];
};

LOWP_EXACT_BEGIN

template <class Isa, class T, int Points, class Rounded, nans Nans>
class accessor<Isa, rotated_operand<T, Points, Rounded>, Nans> {
  using operand_type = rotated_operand<T, Points, Rounded>;

 public:
  using registers = typename Isa::registers;
  using F = pack<float, registers>;
  using U = word<registers>;

  LOWP_HOST_FN accessor(operand_type const& operand, loop_size size,
                        staging<Isa, operand_type>&& staged)
      : operand_(operand),
        elements_(operand_.elements, size,
                  static_cast<decltype(staged.elements)&&>(staged.elements)),
        values_(staged.values) {
    for (int i = 0; i < Points; ++i) {
      before_[i] = operand.signs.before >> i << 31;
      after_[i] = operand.signs.after >> i << 31;
    }
  }

  template <bool Prefetches>
  LOWP_HOST_FN void begin(std::size_t first, std::size_t valid,
                          batch_start<registers>&& start = {}) {
    elements_.template begin<Prefetches>(first, valid,
                                         static_cast<batch_start<registers>&&>(start));
    for (int k = 0; k < static_cast<int>(valid); k += Points) rotate(k);
  }
  LOWP_HOST_FN void end(std::size_t, std::size_t, auto const&...) const {}
  template <int Locality>
  LOWP_HOST_FN void fetch(std::size_t first, std::size_t count) const {
    elements_.template fetch<Locality>(first, count);
  }
  LOWP_HOST_FN void finish() const {}
  LOWP_HOST_FN F load(int k) const { return F::load(values_ + k); }
  template <bool>
  LOWP_HOST_FN no_report store(int, F const&) const {
    return {};
  }

 private:
  static constexpr int packs = Points / Isa::lanes;

  // The factor before the sums is a power of two, and leaves room for them.
  LOWP_HOST_FN void rotate(int first) {
    F x[std::size_t{packs}];
    for (int i = 0; i < packs; ++i)
      x[i] = lanes::mul(with_signs(elements_.load(first + i * Isa::lanes), before_, i),
                        lanes::broadcast<F>(Points == 16 ? 0.25f : 0.125f));
    add_and_subtract<1>(x);
    for (int i = 0; i < packs; ++i) {
      if constexpr (Points == 32)
        x[i] = lanes::mul(x[i], lanes::broadcast<F>(0x1.6a09e6p0f));  // sqrt(2)
      detail::rounded_to<Rounded>(with_signs(x[i], after_, i))
          .store(values_ + first + i * Isa::lanes);
    }
  }
  LOWP_HOST_FN static F with_signs(F const& x, std::uint32_t const* signs, int pack) {
    return lanes::from_bits<F>(lanes::bits(x) ^ U::load(signs + pack * Isa::lanes));
  }
  /// Replaces a and b, Distance apart, by a + b and a - b, for all distances from the given one.
  template <int Distance>
  LOWP_HOST_FN static void add_and_subtract(F (&x)[std::size_t{packs}]) {
    if constexpr (Distance < Isa::lanes) {
      alignas(64) std::uint32_t second[Isa::lanes];
      for (int i = 0; i < Isa::lanes; ++i) second[i] = (i & Distance) != 0 ? 1u << 31 : 0;
      for (F& each : x) {
        U other;
        Isa::template exchange<Distance>(other.v, lanes::bits(each).v);
        each = lanes::add(lanes::from_bits<F>(other), with_signs(each, second, 0));
      }
    } else {
      constexpr int apart = Distance / Isa::lanes;
      for (int i = 0; i < packs; ++i) {
        if ((i & apart) != 0) continue;
        F const a = x[i], b = x[i + apart];
        x[i] = lanes::add(a, b);
        x[i + apart] = lanes::sub(a, b);
      }
    }
    if constexpr (2 * Distance < Points) add_and_subtract<2 * Distance>(x);
  }

  operand_type operand_;
  accessor<Isa, operand<T, access::read>, Nans> elements_;
  float* values_;
  alignas(64) std::uint32_t before_[std::size_t{Points}], after_[std::size_t{Points}];
};

LOWP_EXACT_END

#endif

}  // namespace simd

namespace detail {

template <class S>
concept rotated_range = requires { typename std::remove_cvref_t<S>::rounded_type; };

template <rotated_range S>
struct argument_of<S> {
  using rounded_element = typename S::value_type;

  static constexpr std::size_t ranges = 1;
  LOWP_HOST_FN static void describe(extent* to, char const* name, S& s) {
    *to = extent(name, s.elements);
  }
  template <simd::access, class R>
  LOWP_HOST_FN static auto operand(S& s, R const&, overflow, std::uint32_t) {
    return simd::rotated_operand<rounded_element, S::points, typename S::rounded_type>{
        {s.elements.data()}, s.signs};
  }
};

struct the_arguments_fit_no_call;

/// Transforms blocks of Points successive elements: out = round(in * diag(before) * H *
/// diag(after) / sqrt(Points)).
///
/// Sums are in float and in a fixed order. A block is multiplied by 1/4, of 32 points by 1/8. Then
/// a + b and a - b replace elements a and b. Their distance is 1, then 2, up to Points / 2. A
/// product with sqrt(2) ends 32 points. Each result is rounded once.
///
/// Exact sums give the bits of every other order of additions, so Transformer Engine's. Those of 16
/// bfloat16 are exact if no exponents differ by more than 12.
///
/// The transform and that of signs.inverse(), with float between, give back each element. The
/// error is at most 9 * 2^-24 of the block's Euclidean norm, plus 2^-143; 13 * 2^-24 of 32 points.
/// That holds if no magnitude exceeds 2^125.
///
/// @param in, out  n elements of float or a narrow type, n a multiple of Points
/// @param signs    before and after the matrix
template <class Executor>
struct hadamard_operation : operation<Executor> {
  using calls = otherwise<the_arguments_fit_no_call>;

  template <input In, output Out, int Points, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(In&& in, Out&& out, hadamard_signs<Points> const& signs,
                               R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    rotated<explicit_of<element_of<In>>, Points, float> source(in, signs);
    run(this->executor, "hadamard", make<copy_element>{}, no_report,
        write("out", out, rounding, policy), read("in", source));
  }
};

}  // namespace detail

inline constexpr detail::hadamard_operation<simd::this_thread> hadamard{};

}  // namespace lowp
