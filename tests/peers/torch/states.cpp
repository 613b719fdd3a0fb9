// SPDX-License-Identifier: Apache-2.0
// 8-bit states over plain arrays, for states_test.py and flash_test.py to call.
#include <lowp/fused_add.hpp>
#include <lowp/update.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace {

template <class Blocks, class Code, class Scale>
Blocks blocks_of(Code* codes, Scale* scales, std::size_t n) {
  return {std::span(codes, n), std::span(scales, Blocks::blocks(n))};
}

/// Calls fn with a master of FlashOptim: its parameter, and errors of 8 or 16 bits.
template <class Fn>
void with_master(void* value, bool is_bfloat16, void* error, int bits, std::size_t n, Fn&& fn) {
  auto const with_value = [&](auto of) {
    std::span const values(static_cast<decltype(of)*>(value), n);
    if (bits == 8)
      fn(lowp::corrected_master{values, std::span(static_cast<std::int8_t*>(error), n)});
    else
      fn(lowp::corrected_master{values, std::span(static_cast<std::int16_t*>(error), n)});
  };
  is_bfloat16 ? with_value(lowp::bfloat16()) : with_value(lowp::float16());
}

using lowp::float16;
using lowp::signed_companded_blocks;
using lowp::unsigned_companded_blocks;

}  // namespace

extern "C" {

void adamw_8bit(float* p, float* g, std::uint8_t* m, float* m_absmax, std::uint8_t* v,
                float* v_absmax, std::size_t n, double lr, double weight_decay,
                std::uint64_t step) {
  lowp::update(std::span(p, n), std::span(g, n),
               blocks_of<lowp::signed_dynamic_blocks>(m, m_absmax, n),
               blocks_of<lowp::unsigned_dynamic_blocks>(v, v_absmax, n),
               lowp::adamw{.lr = lr, .weight_decay = weight_decay}, step);
}

/// Stores x in the codes of a first moment.
void quantize(float* x, std::uint8_t* codes, float* absmax, float* unused, std::size_t n) {
  lowp::update(std::span(unused, n), std::span(x, n),
               blocks_of<lowp::signed_dynamic_blocks>(codes, absmax, n),
               lowp::sgd{.lr = 0, .momentum = 1}, 1);
}

/// Stores x in the codes of a first moment, or of a second one.
void compand(float* x, void* codes, float16* scales, float* unused, std::size_t n, bool is_signed) {
  lowp::sgd const copy{.lr = 0, .momentum = 1};
  std::span const p(unused, n), g(x, n);
  if (is_signed)
    lowp::update(p, g,
                 blocks_of<signed_companded_blocks>(static_cast<std::int8_t*>(codes), scales, n),
                 copy, 1);
  else
    lowp::update(p, g,
                 blocks_of<unsigned_companded_blocks>(static_cast<std::uint8_t*>(codes), scales, n),
                 copy, 1);
}
/// Adds the values of codes to `out`.
void expand(void* codes, float16* scales, float* out, std::size_t n, bool is_signed) {
  if (is_signed)
    lowp::fused_add(
        std::span(out, n), 1.0f,
        blocks_of<signed_companded_blocks>(static_cast<std::int8_t*>(codes), scales, n));
  else
    lowp::fused_add(
        std::span(out, n), 1.0f,
        blocks_of<unsigned_companded_blocks>(static_cast<std::uint8_t*>(codes), scales, n));
}

/// Adds w to a master.
void add_to_master(void* value, bool is_bfloat16, void* error, int bits, float* w, std::size_t n) {
  with_master(value, is_bfloat16, error, bits, n,
              [&](auto master) { lowp::fused_add(master, 1.0f, std::span(w, n)); });
}
/// Adds a master to `out`.
void read_master(void* value, bool is_bfloat16, void* error, int bits, float* out, std::size_t n) {
  with_master(value, is_bfloat16, error, bits, n,
              [&](auto master) { lowp::fused_add(std::span(out, n), 1.0f, master); });
}

/// Takes a step of FlashAdamW, FlashLion or FlashSGD over its states.
void flash_step(char which, float16* p, std::int8_t* error, float* g, std::int8_t* m,
                float16* m_scales, std::uint8_t* v, float16* v_scales, std::size_t n, double lr,
                double weight_decay, std::uint64_t step) {
  lowp::corrected_master const master{std::span(p, n), std::span(error, n)};
  std::span const gradient(g, n);
  auto const first = blocks_of<signed_companded_blocks>(m, m_scales, n);
  if (which == 'a')
    lowp::update(master, gradient, first, blocks_of<unsigned_companded_blocks>(v, v_scales, n),
                 lowp::adamw{.lr = lr, .weight_decay = weight_decay}, step);
  else if (which == 'l')
    lowp::update(master, gradient, first, lowp::lion{.lr = lr, .weight_decay = weight_decay}, step);
  else
    lowp::update(master, gradient, first, lowp::sgd{.lr = lr, .momentum = 0.9}, step);
}

}  // extern "C"
