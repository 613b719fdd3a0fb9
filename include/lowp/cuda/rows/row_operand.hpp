// SPDX-License-Identifier: Apache-2.0
// The operands of a row operation, and a thread's part of their rows in its registers.
#pragma once

#include <lowp/cuda/kernel.hpp>
#include <lowp/simd/rows/row_call.hpp>

namespace lowp::cuda {

/// See simd::row_operand.
template <class KernelOperand>
struct row_operand {
  KernelOperand kernel_operand;
  void* data;
  std::uint32_t stride;
  simd::row_repetition rows;
};

/// Chunks of row r of an operand. For random rounding, `encode` needs a place in the whole matrix.
template <class KernelOperand, class Hardware, int Groups>
class row_accessor : public accessor<KernelOperand, true, Hardware, Groups> {
  using base = accessor<KernelOperand, true, Hardware, Groups>;
  using T = typename KernelOperand::type;

 public:
  LOWP_FN row_accessor(row_operand<KernelOperand> const& s, std::uint64_t r,
                       std::uint32_t column = 0)
      : row_accessor(s.kernel_operand,
                     static_cast<T*>(s.data) + s.rows.row(r) * s.stride + column) {}

  template <class Thread>
  LOWP_FN float element(Thread const& thread, std::uint32_t column) const {
    chunk<T> code;
    code.template load<1>(1, thread, static_cast<T const*>(row_) + column);
    return base::decoded(code.code(0));
  }
  /// Writes a row of one element.
  LOWP_FN void write_one(auto const& thread, float value) {
    float const x[chunk_size] = {value};
    base::encode(thread, x, 0, 1);
    base::template store<sizeof(T)>(thread, 0, 1);
  }

 private:
  LOWP_FN row_accessor(KernelOperand const& s, void* row) : base(s, &row, 0), row_(row) {}

  void* row_;
};

/// Operands of one kind. There may be none.
template <class Indices, class... KernelOperand>
struct row_operands;
template <std::size_t... K, class... KernelOperand>
struct row_operands<std::index_sequence<K...>, KernelOperand...>
    : indexed<K, row_operand<KernelOperand>>... {
  /// The number of operands, but at least 1, so that arrays may have that size.
  static constexpr int size = sizeof...(K) == 0 ? 1 : sizeof...(K);
  static constexpr int bytes_read = (0 + ... + KernelOperand::bytes_read);
  using indices = std::index_sequence<K...>;
};

/// A thread's part of a row of these operands, which are read.
template <class Slots, class Hardware, int Groups>
class row_accessors;
template <std::size_t... K, class... KernelOperand, class Hardware, int Groups>
class row_accessors<row_operands<std::index_sequence<K...>, KernelOperand...>, Hardware, Groups>
    : indexed<K, row_accessor<KernelOperand, Hardware, Groups>>... {
  using kernel_operands = row_operands<std::index_sequence<K...>, KernelOperand...>;
  template <std::size_t J, class S>
  using base = indexed<J, row_accessor<S, Hardware, Groups>>;

 public:
  LOWP_FN row_accessors([[maybe_unused]] kernel_operands const& s, [[maybe_unused]] std::uint64_t r)
      : base<K, KernelOperand>{{s.indexed<K, row_operand<KernelOperand>>::value, r}}... {}

  template <int Width, class Thread>
  LOWP_FN void load([[maybe_unused]] int i, [[maybe_unused]] Thread const& thread,
                    [[maybe_unused]] std::uint32_t column, [[maybe_unused]] int count) {
    (base<K, KernelOperand>::value.template load<Width>(i, thread, column, count), ...);
  }
  LOWP_FN void decode([[maybe_unused]] auto const& thread, [[maybe_unused]] int i,
                      [[maybe_unused]] float (&x)[kernel_operands::size][chunk_size]) const {
    (base<K, KernelOperand>::value.decode(thread, i, x[K]), ...);
  }
  template <class Thread>
  LOWP_FN void load_element([[maybe_unused]] Thread const& thread,
                            [[maybe_unused]] std::uint32_t column, [[maybe_unused]] int k,
                            [[maybe_unused]] float (&x)[kernel_operands::size][chunk_size]) const {
    ((x[K][k] = base<K, KernelOperand>::value.element(thread, column)), ...);
  }
};

}  // namespace lowp::cuda
