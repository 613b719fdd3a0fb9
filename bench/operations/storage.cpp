// SPDX-License-Identifier: Apache-2.0
// AdamW on every kind of storage. Names say how the parameter is kept; gradients and moments are
// float unless the name says that they lie in blocks.
#include "adamw.hpp"
#include "harness/main.hpp"

#include <lowp/lowp.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace {

using lowp::bfloat16, lowp::float16, lowp::float8_e4m3fn, lowp::float8_e5m2;

constexpr lowp::nearest_even nearest;
constexpr lowp::stochastic stochastic{.seed = 1};

/// `view(first, second)` of two arrays is what is updated.
template <class First, class Second, class View, class Rounding>
void add(bench::suite& cases, std::string const& name, View view, Rounding rounding) {
  cases.add<bench::traffic<bench::changes<First>, bench::changes<Second>, bench::reads<float>,
                           bench::changes<float>, bench::changes<float>>>(
      name, [=](benchmark::State& state, std::size_t n) {
        bench::data memory;
        auto const storage = view(memory.random<First>(n), memory.random<Second>(n));
        std::span<float const> const g = memory.random<float>(n);
        std::span<float> const m = memory.random<float>(n);
        std::span<float> const v = memory.random<float>(n, [](float x) { return x * x; });
        for (auto _ : state) {
          lowp::update(storage, g, m, v, lowp::adamw{}, bench::step, rounding);
          benchmark::ClobberMemory();
        }
      });
}

/// Bits that are no number; an element of as many bits stands for them.
template <class L, class T>
std::span<L> bits_of(std::span<T> elements) {
  return {reinterpret_cast<L*>(elements.data()), elements.size()};
}

/// Scales, one for 128 elements, are left out of the traffic.
void add_blocks(bench::suite& cases, std::string const& name, auto rounding) {
  cases.add<bench::traffic<bench::changes<bfloat16>, bench::reads<float>,
                           bench::changes<float8_e4m3fn>, bench::changes<float8_e5m2>>>(
      name, [=](benchmark::State& state, std::size_t n) {
        bench::data memory;
        auto const p = memory.random<bfloat16>(n);
        std::span<float const> const g = memory.random<float>(n);
        auto const m = memory.random<float8_e4m3fn>(n);
        auto const v = memory.random<float8_e5m2>(n, [](float x) { return x * x; });
        std::size_t const blocks = (n + 127) / 128;
        auto const one = [](float) { return 1.0f; };
        auto const m_scales = memory.random<lowp::float8_e8m0fnu>(blocks, one);
        auto const v_scales = memory.random<lowp::float8_e8m0fnu>(blocks, one);
        for (auto _ : state) {
          lowp::update(p, g, lowp::blocks_of<128>(m, m_scales), lowp::blocks_of<128>(v, v_scales),
                       lowp::adamw{}, bench::step, rounding);
          benchmark::ClobberMemory();
        }
      });
}

void add_storages(bench::suite& cases) {
  add<bfloat16, bfloat16>(
      cases, "kahan(bfloat16,bfloat16)/nearest_even",
      [](auto p, auto c) { return lowp::kahan{p, c}; }, nearest);
  add<float, bfloat16>(
      cases, "master(float,bfloat16)/nearest_even",
      [](auto w, auto c) { return lowp::master{w, c}; }, nearest);
  auto const with_16 = [](auto h, auto l) {
    return lowp::split_master{h, bits_of<std::uint16_t>(l)};
  };
  add<bfloat16, bfloat16>(cases, "split_master(bfloat16,16)/nearest_even", with_16, nearest);
  add<float16, bfloat16>(cases, "split_master(float16,16)/nearest_even", with_16, nearest);
  add<bfloat16, float8_e5m2>(
      cases, "split_master(bfloat16,8)/stochastic",
      [](auto h, auto l) { return lowp::split_master{h, bits_of<std::uint8_t>(l)}; }, stochastic);
  add_blocks(cases, "bfloat16,blocks(float8_e4m3fn),blocks(float8_e5m2)/nearest_even", nearest);
  add_blocks(cases, "bfloat16,blocks(float8_e4m3fn),blocks(float8_e5m2)/stochastic", stochastic);
}

}  // namespace

int main(int argc, char** argv) { return bench::run_suite("storage", argc, argv, add_storages); }
