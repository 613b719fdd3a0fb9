// SPDX-License-Identifier: Apache-2.0
// Moments with a scale for every block, taken through the oracle's steps.
#pragma once

#include <lowp/lowp.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "oracle/storage.hpp"
#include "train/update/support.hpp"

namespace lowp_test {

template <class T, int Block>
struct block_kind {
  using type = T;
  static constexpr int block = Block;
};
struct by_block_kind {
  template <class Kind>
  static std::string GetName(int) {
    return facts<typename Kind::type>.name + ("_by_" + std::to_string(Kind::block));
  }
};

// The smallest power of two 2^e, e at least -127, with amax / 2^e within the format; NaN if amax is
// no number.
inline std::uint32_t scale_code_for(oracle::facts const& f, double amax) {
  if (!(amax < HUGE_VAL)) return 0xff;
  int e = -127;
  while (std::ldexp(amax, -e) > f.max_finite) ++e;
  return static_cast<std::uint32_t>(e + 127);
}

template <class Kind>
struct moment_in_blocks {
  using T = typename Kind::type;
  tensor codes{facts<T>, {}};
  tensor scales{oracle::float8_e8m0fnu, {}};

  explicit moment_in_blocks(tensor const& floats) { store(floats.codes, {}, 0); }

  [[nodiscard]] std::uint32_t value(std::size_t i) const {
    return oracle::f32_mul(codes.value(i), scales.value(i / Kind::block));
  }
  void store(std::vector<std::uint32_t> const& values, slot_mode const& mode, unsigned draw) {
    codes.codes.resize(values.size());
    scales.codes.assign((values.size() + Kind::block - 1) / Kind::block, 0);
    for (std::size_t b = 0; b < scales.size(); ++b) {
      std::size_t const begin = b * Kind::block;
      std::size_t const end = std::min(begin + Kind::block, values.size());
      double amax = 0;
      for (std::size_t i = begin; i < end; ++i) {
        double const x = std::fabs(double{float_of(values[i])});
        if (!(x <= amax)) amax = x;
        if (std::isnan(x)) break;
      }
      std::uint32_t const scale = scale_code_for(codes.format, amax);
      scales.codes[b] = scale;
      std::uint32_t const reciprocal = scale == 0xff ? 0x7fc00000U : (254 - scale) << 23;
      for (std::size_t i = begin; i < end; ++i)
        codes.codes[i] =
            oracle::encode_computed(codes.format, oracle::f32_mul(values[i], reciprocal), mode.mode,
                                    oracle::default_policy(codes.format), mode.random(i, draw));
    }
  }
};

// A few steps of AdamW, of which a block sees numbers of very different size, zeros, and once a
// NaN.
template <class Kind>
struct adamw_in_blocks {
  lowp::adamw settings{.lr = 1e-2, .eps = 1e-3, .weight_decay = 0};
  slot_modes modes{{}, {}, {oracle::mode::stochastic, 11, 12, 13}};
  tensor p, g;
  moment_in_blocks<Kind> m, v;

  explicit adamw_in_blocks(std::size_t size)
      : p(random_tensor<float>(size, size, values::training)),
        g(random_tensor<float>(size, size + 1, values::training)),
        m(random_tensor<float>(size, size + 2, values::training, 0.1)),
        v(tensor{oracle::binary32, std::vector<std::uint32_t>(size, float_bits(0.01f))}) {
    for (std::size_t i = 0; i < size; ++i) {
      if (i % 3 == 0)
        g.codes[i] = float_bits(std::ldexp(float_of(g.codes[i]), -static_cast<int>(i % 40)));
      if (i / 256 == 1) g.codes[i] = 0;
    }
    if (size > 700) g.codes[700] = 0x7fc00000U;
  }

  void take(std::uint64_t step) {
    auto const scalars =
        oracle::prepare(oracle::adamw_settings{settings.lr, settings.beta1, settings.beta2,
                                               settings.eps, settings.weight_decay},
                        step);
    std::vector<std::uint32_t> new_m, new_v;
    for (std::size_t i = 0; i < p.size(); ++i) {
      auto const to = oracle::adamw(p.value(i), g.value(i), m.value(i), v.value(i), scalars);
      p.codes[i] = to.w;
      new_m.push_back(to.m);
      new_v.push_back(to.v);
    }
    m.store(new_m, modes.first.at(step), 1);
    v.store(new_v, modes.second.at(step), 2);
  }
};

}  // namespace lowp_test
