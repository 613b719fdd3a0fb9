// SPDX-License-Identifier: Apache-2.0
// The Hadamard transform of what a kernel reads. Neighbouring threads hold a block of elements.
#pragma once

#include <lowp/cuda/kernel_operands.hpp>
#include <lowp/quantization/hadamard.hpp>

namespace lowp::cuda {

template <int Points, class Elements, class Rounded>
struct rotated_kernel_operand {
  static constexpr bool is_collective = true, finds_scales = false, has_few_blocks = false,
                        has_keys = false, permits_runs = false;
  static constexpr std::uint64_t chunks_of_square = 1;
  static constexpr int parts = 1, bytes_read = Elements::bytes_read, bytes_written = 0;

  Elements elements;
  hadamard_signs<Points> signs;
};

/// A block is two or four chunks, of threads that are neighbours in a warp. Sums have the order of
/// simd::accessor: elements at a distance of 1, 2 and 4 lie in a thread.
template <int Points, class Elements, class Rounded, bool IsComputed, class Hardware, int Rows>
class accessor<rotated_kernel_operand<Points, Elements, Rounded>, IsComputed, Hardware, Rows> {
  using operand_type = rotated_kernel_operand<Points, Elements, Rounded>;
  static constexpr bool encodes = requires(float x) {
    requires std::is_same_v<Rounded, bfloat16>;
    Hardware::encode(std::type_identity<Rounded>{}, x, x);
  };

 public:
  LOWP_FN accessor(operand_type const& s, void* const* data, std::uint32_t number)
      : elements_(s.elements, data, number), signs_(s.signs) {}

  template <int Width, class Thread>
  LOWP_FN void load(int pass, Thread const& thread, chunk_place first, int count) {
    elements_.template load<Width>(pass, thread, first, count);
  }
  /// Returns the largest magnitude of a pass, whose results are kept.
  LOWP_FN std::uint32_t largest(auto const& thread, int pass) {
    transform(thread, pass, kept_[pass]);
    is_kept_ = true;
    return largest_of(kept_[pass]);
  }
  LOWP_FN void decode(auto const& thread, int pass, float (&x)[chunk_size]) const {
    if (!is_kept_) return transform(thread, pass, x);
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < chunk_size; ++k) x[k] = kept_[pass][k];
  }
  LOWP_FN void encode(auto const&...) const {}
  template <int Width>
  LOWP_FN void store(auto const&...) const {}

 private:
  LOWP_FN void transform(auto const& thread, int pass, float (&x)[chunk_size]) const {
    using namespace lanes;
    auto const first = static_cast<unsigned>(thread.thread()) * chunk_size % Points;
    std::uint32_t const before = signs_.before >> first, after = signs_.after >> first;
    elements_.decode(thread, pass, x);
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < chunk_size; ++k)
      x[k] = mul(x[k], with_sign(Points == 16 ? 0.25f : 0.125f, before >> k));
    LOWP_UNROLL_ON_GPU
    for (int distance = 1; distance < chunk_size; distance *= 2) {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) {
        if ((k & distance) != 0) continue;
        float const a = x[k], b = x[k + distance];
        x[k] = add(a, b);
        x[k + distance] = sub(a, b);
      }
    }
    add_of_neighbour<1>(thread, x);
    if constexpr (Points == 32) add_of_neighbour<2>(thread, x);
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < chunk_size; ++k) {
      if constexpr (Points == 32) x[k] = mul(x[k], 0x1.6a09e6p0f);  // sqrt(2)
      if (signs_.after != 0) x[k] = with_sign(x[k], after >> k);
      if constexpr (!encodes && !std::is_same_v<Rounded, float>)
        x[k] = detail::rounded_to<Rounded>(x[k]);
    }
    if constexpr (encodes) {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; k += 2) {
        std::uint32_t const codes = Hardware::encode(std::type_identity<Rounded>{}, x[k], x[k + 1]);
        x[k] = from_bits<float>(codes << 16);
        x[k + 1] = from_bits<float>(codes & 0xffff0000);
      }
    }
    if (largest_of(x) <= binary32_infinity) return;
    LOWP_UNROLL_ON_GPU
    for (float& each : x) each = canonical(each);
  }
  /// Changes the sign if bit 0 of `signs` is set.
  LOWP_FN static float with_sign(float x, std::uint32_t signs) {
    return lanes::from_bits<float>(lanes::bits(x) ^ lanes::hidden(signs << 31));
  }
  template <int Distance, class Thread>
  LOWP_FN static void add_of_neighbour(Thread const& thread, float (&x)[chunk_size]) {
    float const sign = with_sign(1.0f, thread.thread() / Distance % 2);
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < chunk_size; ++k)
      x[k] = lanes::fma(x[k], sign, detail::warp<Thread>{thread}.template other<Distance>(x[k]));
  }

  accessor<Elements, IsComputed, Hardware, Rows> elements_;
  hadamard_signs<Points> signs_;
  float kept_[std::size_t{Rows}][chunk_size];
  bool is_kept_ = false;
};

template <class T, int Points, class Rounded>
struct kernel_operand_for<simd::rotated_operand<T, Points, Rounded>> {
  using elements = kernel_operand_for<simd::operand<T, access::read>>;
  using type = rotated_kernel_operand<Points, typename elements::type, Rounded>;
  static type of(simd::rotated_operand<T, Points, Rounded> const& o, detail::nans kind) {
    return {elements::of(o.elements, kind), o.signs};
  }
};

}  // namespace lowp::cuda
