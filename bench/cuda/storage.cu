// SPDX-License-Identifier: Apache-2.0
// Casts to wider types, storages of weights and moments, and four bits.
#include "both.cuh"

namespace {

using namespace bench;
using namespace lowp;
using bf16 = bfloat16;
using e4m3 = float8_e4m3fn;

constexpr adamw optimizer{.lr = 1e-3};
constexpr std::uint64_t step = 1000;
constexpr stochastic random_bits{.seed = 20110516};
constexpr stochastic_fast fast_bits{.seed = 20110516};
constexpr normal gradients{1e-2f}, weights{2e-2f}, first{1e-3f};
constexpr squared_normal second{1e-2f};
// Codes and scales are bytes of zeros here: moments before the first step. A scale that is a power
// of two has no zero.
constexpr normal zeros{0};
template <class Scale>
struct least_scale {
  __device__ float operator()(float) const {
    return std::is_same_v<Scale, float8_e8m0fnu> ? 0x1p-127f : 0;
  }
};

template <class From, class To, class R = nearest_even>
void measure_cast(suite& all, std::string const& name, R const& rounding = {}) {
  measure_both(
      all, "cast/" + name + "/lowp", 1, sizeof(From) + sizeof(To),
      [=](auto on, auto from, auto to) { on.cast(from, to, rounding); }, tensor<From>{},
      tensor<To>{});
}

/// AdamW with weights, moments and a rounding; bytes of the weights and moments of an element.
template <class M, class R>
void measure_plain(suite& all, std::string const& name, R const& rounding) {
  measure_both(
      all, "update/adamw/" + name + "/lowp", 1, 6 + 4 * sizeof(M),
      [=](auto on, auto p, auto g, auto m, auto v) {
        on.update(p, g, m, v, optimizer, step, rounding);
      },
      tensor<bf16>{weights}, tensor<bf16>{gradients}, tensor<M>{first},
      tensor<M, squared_normal>{second});
}

/// Weights in two parts.
template <class P, class Q>
void measure_weights(suite& all, std::string const& name, auto const& make) {
  measure_both(
      all, "update/adamw/" + name + ",bfloat16,float,float/nearest_even/lowp", 1,
      2 * (sizeof(P) + sizeof(Q)) + 2 + 16,
      [=](auto on, auto p, auto q, auto g, auto m, auto v) {
        on.update(make(p, q), g, m, v, optimizer, step);
      },
      tensor<P>{weights}, tensor<Q>{zeros}, tensor<bf16>{gradients}, tensor<float>{first},
      tensor<float, squared_normal>{second});
}

/// Moments in blocks of codes with scales.
template <std::size_t Block, class Code, class Code2, class Scale>
void measure_states(suite& all, std::string const& name, auto const& rounding, auto const& m_of,
                    auto const& v_of) {
  measure_both(
      all, "update/adamw/bfloat16,bfloat16," + name + "/stochastic/lowp", 1,
      6 + 4 + 4.0 * sizeof(Scale) / Block,
      [=](auto on, auto p, auto g, auto m, auto ms, auto v, auto vs) {
        on.update(p, g, m_of(m, ms), v_of(v, vs), optimizer, step, rounding);
      },
      tensor<bf16>{weights}, tensor<bf16>{gradients}, tensor<Code>{zeros},
      tensor<Scale, least_scale<Scale>, Block>{{}}, tensor<Code2>{zeros},
      tensor<Scale, least_scale<Scale>, Block>{{}});
}

template <class In, class R>
void measure_nvfp4(suite& all, std::string const& name, auto const& recipe, R const& rounding,
                   auto const& of) {
  measure_both(
      all, "quantize/" + name + "/lowp", 1024, sizeof(In) + 0.5 + 1.0 / 16,
      [=](auto on, auto in, auto codes, auto scales) {
        nvfp4 to{packed<float4_e2m1fn>{codes, in.size()}, scales};
        if constexpr (decltype(on)::is_device)
          lowp::cuda::quantize(on.stream, of(in), to, recipe, rounding,
                               quantize_options{.columns = 1024, .largest = amax{0x40c00000}});
        else
          lowp::quantize(of(in), to, recipe, rounding,
                         quantize_options{.columns = 1024, .largest = amax{0x40c00000}});
      },
      tensor<In>{}, tensor<std::uint8_t, normal, 2>{zeros}, tensor<e4m3, normal, 16>{zeros});
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](suite& all) {
    measure_cast<e4m3, float>(all, "float8_e4m3fn->float/exact");
    measure_cast<e4m3, bf16>(all, "float8_e4m3fn->bfloat16/exact");
    measure_cast<float16, float>(all, "float16->float/exact");
    measure_cast<bf16, double>(all, "bfloat16->double/exact");
    measure_cast<bf16, e4m3>(all, "bfloat16->float8_e4m3fn/nearest_even");
    measure_cast<float, bf16>(all, "float->bfloat16/stochastic_fast", fast_bits);
    measure_cast<float, e4m3>(all, "float->float8_e4m3fn/stochastic_fast", fast_bits);
    measure_cast<bf16, e4m3>(all, "bfloat16->float8_e4m3fn/stochastic", random_bits);

    measure_plain<bf16>(all, "bfloat16,bfloat16,bfloat16,bfloat16/nearest_even", nearest_even{});
    measure_plain<bf16>(all, "bfloat16,bfloat16,bfloat16,bfloat16/stochastic_fast", fast_bits);
    measure_weights<bf16, bf16>(all, "kahan", [](auto p, auto q) { return kahan{p, q}; });
    measure_weights<float, bf16>(all, "master", [](auto p, auto q) { return master{p, q}; });
    measure_weights<bf16, std::uint16_t>(all, "split16",
                                         [](auto p, auto q) { return split_master{p, q}; });
    measure_states<128, e4m3, float8_e5m2, float8_e8m0fnu>(
        all, "float8_e4m3fn_128,float8_e5m2_128", random_bits,
        [](auto m, auto s) { return blocks_of<128>(m, s); },
        [](auto v, auto s) { return blocks_of<128>(v, s); });
    constexpr per_slot rounded_weights{
        .param = random_bits, .first = nearest_even{}, .second = nearest_even{}};
    measure_states<256, std::uint8_t, std::uint8_t, float>(
        all, "dynamic8_256,dynamic8_256", rounded_weights,
        [](auto m, auto s) { return signed_dynamic_blocks{m, s}; },
        [](auto v, auto s) { return unsigned_dynamic_blocks{v, s}; });
    measure_states<32, std::int8_t, std::uint8_t, float16>(
        all, "companded8_32,companded8_32", rounded_weights,
        [](auto m, auto s) { return companded_blocks<true>{m, s}; },
        [](auto v, auto s) { return companded_blocks<false>{v, s}; });

    auto const same = [](auto in) { return in; };
    nearest_even const nearest;
    measure_nvfp4<bf16>(all, "bfloat16->nvfp4/nearest_even", recipes::te_2_20_nvfp4, nearest, same);
    measure_nvfp4<float>(all, "float->nvfp4/nearest_even", recipes::te_2_20_nvfp4, nearest, same);
    measure_nvfp4<bf16>(all, "bfloat16->nvfp4/stochastic", recipes::te_2_20_nvfp4, random_bits,
                        same);
    measure_nvfp4<bf16>(all, "bfloat16->nvfp4/stochastic_fast", recipes::te_2_20_nvfp4, fast_bits,
                        same);
    measure_nvfp4<bf16>(all, "bfloat16->nvfp4,16x16/nearest_even", recipes::te_2_20_nvfp4_16x16,
                        nearest, same);
    measure_nvfp4<bf16>(all, "bfloat16->nvfp4,4over6/nearest_even",
                        recipes::te_2_20_nvfp4_4over6_mae_448, nearest, same);
    measure_nvfp4<bf16>(all, "bfloat16->nvfp4,rotated/nearest_even", recipes::te_2_20_nvfp4,
                        nearest, [](auto in) { return rotated{in, te_2_20_signs}; });
  });
}
