// SPDX-License-Identifier: Apache-2.0
// AdamW with 8-bit states over plain arrays, for states_test.py to call.
#include <lowp/update.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace {

template <class Blocks>
Blocks blocks_of(std::uint8_t* codes, float* absmax, std::size_t n) {
  return {std::span(codes, n), std::span(absmax, Blocks::blocks(n))};
}

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

}  // extern "C"
