// SPDX-License-Identifier: Apache-2.0
// A number that stands for every bit that the library computes from some fixed inputs. It is the
// same whatever a unit that includes this is built with, and whatever its caller left in MXCSR.
// Nothing here computes in floating point, so that the number depends on the library alone.
#pragma once

#include <lowp/lowp.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <vector>

#include "result.hpp"
#include "support/backends.hpp"
#include "support/fingerprint.hpp"
#include "support/tour.hpp"

// Each unit has its own, as a program's units would.
namespace {

using namespace lowp;

template <class T, class R>
void note_mode(fingerprint& f, R const& rounding) {
  for (float const x : numbers(1)) f.note(convert<T>(x, rounding).bits());
  for (float const x : numbers(2)) {
    for (overflow const policy : {overflow::infinity, overflow::saturate})
      f.note(convert<T>(x, rounding, policy).bits());
  }
}

// Every mode, one value at a time.
template <class T>
void note_scalars(fingerprint& f) {
  note_mode<T>(f, nearest_even{});
  note_mode<T>(f, nearest_away{});
  note_mode<T>(f, toward_zero{});
  note_mode<T>(f, upward{});
  note_mode<T>(f, downward{});
  note_mode<T>(f, to_odd{});
  note_mode<T>(f, stochastic_bits{0x9abc});
  for (T const x : codes<T>(9)) f.note(std::bit_cast<std::uint32_t>(convert<float>(x)));
}

// In packs, and in every mode as what an update reads and writes.
template <class T>
void note_packs(fingerprint& f) {
  std::vector<float> const x = numbers(3);
  std::vector<T> narrow(x.size());
  cast(x, narrow);
  f.note(narrow);

  rounding_mode const modes[] = {nearest_even{},
                                 nearest_away{},
                                 toward_zero{},
                                 upward{},
                                 downward{},
                                 to_odd{},
                                 stochastic{.seed = 5, .stream = 6, .offset = 7},
                                 stochastic_fast{.seed = 5, .stream = 6, .offset = 7}};
  update_report report;
  for (rounding_mode const& mode : modes) {
    std::vector<T> p = codes<T>(8);
    if constexpr (std::numeric_limits<T>::is_signed)  // a step writes no other format
      update(p, x, sgd{.lr = 0.37, .weight_decay = 0.1}, 9, per_slot{mode, {}, {}}, report);
    f.note(p);
  }
  f.note(report);
}

template <class R>
void note_bfloat16(fingerprint& f, R const& rounding) {
  std::vector<float> const x = numbers(10);
  std::vector<bfloat16> p(x.size());
  cast(x, p, rounding);
  f.note(p);
  update_report report;
  fused_add(p, std::bit_cast<float>(0xbdcccccdU), numbers(11), rounding, report);
  f.note(p);
  f.note(report);
}

// Several steps of both optimizers with different formats in the slots.
inline void note_optimizers(fingerprint& f) {
  update_report report;
  std::vector<bfloat16> p = codes<bfloat16>(12);
  std::vector<float8_e4m3fn> m = codes<float8_e4m3fn>(13);
  std::vector<float16> v(p.size());
  stochastic const random{.seed = 14, .stream = stream_of(15, 0), .offset = 0 - 100ULL};
  for (std::uint64_t step = 1; step <= 4; ++step) {
    auto const g = codes<float8_e5m2>(static_cast<std::uint32_t>(16 + step));
    update(p, g, m, v, adamw{.lr = 0.013}, step, per_slot{random, random, upward{}}, report);
    update(p, g, m, sgd{.lr = 0.1, .momentum = 0.7, .weight_decay = 0.03, .nesterov = true}, step);
#ifndef LOWP_TEST_SOME
    update(p, g, m, sgd{.lr = 0.1, .momentum = 0.9, .dampening = 0.3}, step, random, report);
#endif
  }
  // Not 0, whatever the caller thinks of subnormals.
  double const tiny = std::bit_cast<double>(std::uint64_t{1});
  update(p, codes<float8_e5m2>(19), m, sgd{.lr = 0.1, .momentum = tiny}, 5);
  f.note(p);
  f.note(m);
  f.note(v);
  std::vector<float> q = numbers(17);
  std::vector<float> first(q.size());
  std::vector<float> second(q.size());
  for (std::uint64_t step = 1; step <= 3; ++step)
    update(q, numbers(18), first, second, adamw{.lr = 1e-2, .eps = 0}, step);
  f.note(q);
  f.note(first);
  f.note(second);
  f.note(report);
}

// Scalars of a step that an estimate of a quotient or a root would move.
inline void note_quotients(fingerprint& f) {
  for (std::uint64_t step = 1; step < 200; ++step) {
    std::vector<float> p(1);
    std::vector<float> m(1);
    std::vector<float> v(1);
    std::vector<float> const g{
        std::bit_cast<float>(0x3f9d70a4U + static_cast<std::uint32_t>(step))};
    update(p, g, m, v, adamw{.weight_decay = 0}, step);
    f.note(p);
  }
}

// NaN and infinity must not be overlooked by a unit that assumes that there are none.
inline void note_refusals(fingerprint& f) {
  std::vector<float> p(3);
  std::vector<float> g(3);
  for (std::uint64_t const bits : {0x7ff8000000000000U, 0x7ff0000000000000U, 0xfff0000000000000U,
                                   0xbfe0000000000000U, 0x81a56e1fc2f8f359U, 0x3fe0000000000000U}) {
    bool refused = false;
    try {
      update(p, g, sgd{.lr = std::bit_cast<double>(std::uint64_t{bits})}, 1);
    } catch (std::invalid_argument const&) {
      refused = true;
    }
    f.note(refused ? 1 : 0);
  }
  for (std::uint32_t const bits : {0x7fc00000U, 0xffc00000U, 0x7f800000U, 0xff800000U}) {
    auto const no_number = std::bit_cast<float>(bits);
    for (auto const& call : std::initializer_list<std::function<void()>>{
             [&] { fused_add(p, no_number, g); }, [&] { scaled_cast(g, p, no_number); },
             [&] { scaled_cast(g, p, std::bit_cast<float>(bits & 0x80000000U)); },
             [&] { loss_scaler{.scale = no_number}.update(false); }}) {
      try {
        call();
        f.note(bits);
      } catch (std::invalid_argument const&) {  // as it must be, and nothing to note
      }
    }
  }
}

// Rows, whose sums have an order and whose exponentials are chains; and what is not finite.
inline void note_pieces(fingerprint& f) {
  std::vector<float> const x = numbers(23, 300);
  std::vector<float> y(x.size());
  gelu_tanh(x, y);
  f.note(y);
#ifndef LOWP_TEST_SOME
  const std::vector<bfloat16> weight = codes<bfloat16>(24, 100);
  std::vector<float16> z(x.size());
  layer_norm(std::vector<bfloat16>(300, bfloat16(3)), weight, weight, z, 100, 1e-6f);
  f.note(z);
  for (std::uint32_t i = 0; i < 3; ++i) {
    rms_norm(codes<float16>(25 + i, 300), weight, y, 100, 1e-6f);
    f.note(y);
  }
  std::vector<float16> stream = codes<float16>(29, 300);
  add_rms_norm(stream, z, weight, y, 100, 1e-6f, stochastic{.seed = 30});
  f.note(stream);
  f.note(y);
  std::vector<float> dweight(100);
  rms_norm_backward(stream, weight, x, std::vector<float>(3, 1.0f), added_to{y}, dweight, 100);
  f.note(y);
  f.note(dweight);
  gather_rows(stream, std::vector{2, -100, 1}, z, 100);
  f.note(z);
  scatter_add_rows(x, std::vector{1, 0, 1}, stream, 100);
  f.note(stream);
  add_rows(x, dweight, 100);
  f.note(dweight);
  gelu(x, y);
  f.note(y);
  gated_silu(x, z, y);
  f.note(y);
  gated_gelu_backward(x, z, x, y, stream);
  f.note(y);
  f.note(stream);
  silu_backward(x, x, y);
  f.note(y);
  softmax(z, y, 100);
  f.note(y);
  sum_report sum;
  dot(x, y, sum);
  f.note(sum.nan);
  f.note(sum.positive_infinite);
  f.note(sum.negative_infinite);
  scaling_report scaling;
  scale_by_power_of_two(x, z, -20, scaling);
  f.note(z);
  f.note(scaling.overflowed);
  f.note(scaling.inexact);
  std::vector<float16> half = codes<float16>(28, 300);
  f.note(clamp_overflow(half).clamped());
  f.note(half);
#endif
}

// A compensation is what a compiler that believes in associativity would take for zero.
inline void note_storages(fingerprint& f) {
  std::vector<bfloat16> value(257, bfloat16(1));
  std::vector<bfloat16> rest(value.size());
  std::vector<bfloat16> high = value;
  std::vector<std::uint8_t> low(value.size());
  std::vector<float16> half(value.size(), float16(1));
  std::vector<std::uint16_t> half_low(value.size());
  std::vector<float8_e4m3fn> codes(value.size(), float8_e4m3fn(0));
  std::vector<float8_e8m0fnu> scales(3, float8_e8m0fnu(1));
  std::vector<float> const g = numbers(19);
  for (std::uint64_t step = 1; step <= 3; ++step) {
    std::span const used(g.data(), value.size());
    update(kahan{value, rest}, used, sgd{.lr = 1e-4}, step);
    fused_add(split_master{half, half_low}, std::bit_cast<float>(0xb5000000U), used);
#ifndef LOWP_TEST_SOME
    update(split_master{high, low}, used, blocks_of<128>(codes, scales),
           sgd{.lr = 1e-4, .momentum = 0.5}, step, stochastic{.seed = 23});
#endif
  }
  f.note(value);
  f.note(rest);
  f.note(high);
  f.note(half);
  f.note(codes);
  f.note(scales);
  f.note(low);
  f.note(half_low);
}

// Rows of 37; of one, whose result is a zero that must not lose its sign; with subnormal results.
inline void note_rows(fingerprint& f) {
  std::vector<float> x = numbers(50);
  for (std::size_t i = 0; i < x.size(); ++i)
    if ((std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffU) > 0x7f7fffffU)
      x[i] = std::bit_cast<float>(i % 2 == 0 ? 0xc2b00000U : 0xff800000U);
  std::vector<float> out(x.size());
  std::vector<float16> narrow(x.size());
  for (std::size_t const columns : {37U, 1U, 333U}) {
    softmax(x, out, columns);
    f.note(out);
#ifndef LOWP_TEST_SOME
    log_softmax(x, out, columns);
    f.note(out);
    scale_mask_softmax(x, causal_mask{3}, narrow, columns == 333 ? 111 : columns,
                       std::bit_cast<float>(0x42000001U));
    f.note(narrow);
#endif
  }
  x[40] = std::bit_cast<float>(0xffc00001U);
  softmax(x, out, 37);
  f.note(out);
}

#ifndef LOWP_TEST_SOME
// Its scalars compute in the environment of their caller.
inline void note_tour(fingerprint& f) {
  detail::default_environment const usual;
  tour(f);
}
#endif

// By default what -ffast-math or a lent body would break first; without LOWP_TEST_SOME more
// kernels.
inline flags_test::conformance_result conformance() {
  fingerprint f;
  note_scalars<float16>(f);
  note_scalars<bfloat16>(f);
  note_scalars<float8_e5m2>(f);
  note_scalars<float8_e4m3fn>(f);
  note_scalars<float8_e4m3>(f);
  note_scalars<float8_e3m4>(f);
  note_scalars<float8_e4m3fnuz>(f);
  note_scalars<float8_e5m2fnuz>(f);
  note_scalars<float8_e4m3b11fnuz>(f);
  note_scalars<float8_e8m0fnu>(f);
  note_scalars<float8_ue5m3>(f);
  note_scalars<float6_e2m3fn>(f);
  note_scalars<float6_e3m2fn>(f);
  note_scalars<float4_e2m1fn>(f);
  // Take one format of each kind: a kernel for every backend takes long to compile.
  note_packs<bfloat16>(f);
  note_bfloat16(f, nearest_even{});
#ifndef LOWP_TEST_SOME
  note_packs<float8_e4m3fn>(f);
  note_packs<float16>(f);
  note_packs<float8_e5m2fnuz>(f);
  note_packs<float8_e8m0fnu>(f);
  note_packs<float6_e2m3fn>(f);
  note_bfloat16(f, nearest_away{});
  note_tour(f);
#endif
  note_bfloat16(f, stochastic{.seed = 20, .stream = 21, .offset = 22});
  note_bfloat16(f, stochastic_fast{.seed = 20, .stream = 21, .offset = 22});
  note_optimizers(f);
  note_quotients(f);
  note_refusals(f);
  note_storages(f);
  note_pieces(f);
  note_rows(f);

  // 16 ones and 600000 times 2^-53: a plain double would lose the second sum.
  std::vector<float> u(600016, std::bit_cast<float>((127U - 53) << 23));
  for (std::size_t i = 0; i < 16; ++i) u[i] = std::bit_cast<float>(0xbf800000U);
  std::vector<float> p(u.size());
  update_report report;
  fused_add(p, std::bit_cast<float>(0x3f800000U), u, nearest_even{}, report);
  f.note(report);
  return {f.value(), flags_test::expected_fingerprint, report};
}

}  // namespace
