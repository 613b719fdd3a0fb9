// SPDX-License-Identifier: Apache-2.0
// A program with macros, and with globals that are called as our parameters. It calls most of the
// library.
#include "user_macros.hpp"

extern int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z;
extern int tensor, tensors, rows, columns, row, column, name, names, step, reports, rounding, scale,
    values, value, weight, weights, bias, in, out, size, count, first, last, state, path, bits,
    code, index, place, number, function, call, mode, seed, stream, offset, lr, momentum, type,
    shape, range, ids, labels, losses, left, right, from, to, other, element, table, end, begin,
    result, what, where, all, each;
#include <lowp/io.hpp>
#include <lowp/lowp.hpp>
#include <lowp/nn.hpp>
#include <lowp/watch.hpp>

#include <iostream>
#include <string>
#include <vector>

using namespace lowp;

static_assert(min(1, 2) == 1 && max(1, 2) == 2 && abs(-1) == 1 && round(1.5) == 1,
              "the program's macros are its own again");

int main() {
  std::vector<float> floats(32);
  std::vector<double> doubles(32);
  std::vector<bfloat16> codes(32);
  std::vector<float8_e4m3fn> bytes(32);
  std::vector<float8_e8m0fnu> scales(1);
  std::vector<std::uint16_t> lows(32);
  std::vector const list{named{"w", codes}};
  update_report report;
  update_amax seen;
  gradient_report gradients;

  cast(doubles, codes, stochastic{1});
  cast(codes, doubles);
  scaled_cast(floats, bytes, 1.0f, seen.gradient);
  block_cast(floats, blocks_of<32>(bytes, scales));
  block_cast(blocks_of<32>(bytes, scales), floats);
  split(floats, codes, lows);
  join(codes, lows, floats);
  fused_add(split_master{codes, lows}, 1.0f, floats, stochastic_fast{1}, report);
  update(kahan{codes, codes}, floats, floats, floats, adamw{}, 1, {}, report);
  update(master{floats, codes}, floats, scaled{bytes, 1.0f}, blocks_of<32>(bytes, scales), adamw{},
         1, stochastic{1}, seen);
  update(codes, floats, floats, sgd{.lr = 1, .momentum = 0.9}, 1);
  tree_add(list, 1.0f, list);
  unscale(codes, 0.5f, gradients);
  softmax(codes, floats, 32);
  scale_mask_softmax(codes, floats, codes, 32, 1.0f);
  softmax_pb_relax(codes, codes, 32, 32.0f);
  gated_gelu_tanh(codes, codes, codes);
  layer_norm(codes, floats, floats, codes, 32, 1e-6f);
  scale_by_power_of_two(codes, codes, 1);
  stall_watch().add("w", codes);
  overflow_watch<float16> watch;
  watch.add("place");
  watch.forward(0).input(codes).output(codes);
  std::cout << codes[0] << text(census<float16>(floats)) << abs_range_of<float16>(codes).count
            << clamp_overflow(codes).count << stall_advice(codes, {.lr = 1}).count
            << clip(list, 1.0).norm() << sum(codes) << dot(codes, floats);
}
