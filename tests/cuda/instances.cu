// SPDX-License-Identifier: Apache-2.0
// Kernels whose machine code code_test.cmake reads: every operation, formats with and without
// instructions on a GPU, every kind of rounding, reports, lists, arguments in device memory; with
// LOWP_TEST_SOME, one of each kind. The host's header comes first, as in a program that uses both.
#include <lowp/lowp.hpp>

#include <lowp/cuda/lowp.cuh>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

using lowp::cuda::view;

struct memory {
  void* data;
  template <class T>
  std::span<T> of() const {
    return view(static_cast<T*>(data), 1000);
  }
};

template <class T>
void casts(cudaStream_t stream, memory const& a, memory const& b) {
  lowp::stochastic const random{1};
  auto const wide = a.of<float>();
  auto const narrow = b.of<T>();
  lowp::cuda::cast(stream, wide, narrow);
  lowp::cuda::cast(stream, wide, narrow, random, lowp::overflow::saturate);
  lowp::cuda::cast(stream, wide, narrow, lowp::toward_zero{});
  lowp::cuda::cast(stream, narrow, wide);
  lowp::cuda::fused_add(stream, narrow, 0.5f, wide, random);
}

template <class P, class M>
void steps(cudaStream_t stream, memory const& p, memory const& g, memory const& m, memory const& v,
           memory const& other) {
  lowp::stochastic const random{1};
  lowp::sgd const sgd{.lr = 0.1, .momentum = 0.9};
  auto const* const state = static_cast<lowp::cuda::step_state const*>(other.data);
  auto* const report = static_cast<lowp::update_report*>(other.data);
  lowp::cuda::update(stream, p.of<P>(), g.of<P>(), m.of<M>(), v.of<M>(), lowp::adamw{}, 1, random);
  lowp::cuda::update(stream, p.of<P>(), g.of<P>(), m.of<M>(), v.of<M>(), lowp::adamw{}, state,
                     lowp::per_slot{.param = random}, report);
  lowp::cuda::update(stream, p.of<P>(), g.of<P>(), m.of<M>(), sgd, 1, random);
  std::vector<lowp::cuda::adamw_tensor<P, P, M, M>> const list{
      {p.of<P>(), g.of<P>(), m.of<M>(), v.of<M>()}};
  lowp::cuda::update(stream, list, lowp::adamw{}, 1, random, std::span(report, 1));
}

void blocks(cudaStream_t stream, memory const& a, memory const& b, memory const& c, memory const& d,
            memory const& other) {
  auto const codes = c.of<lowp::float8_e4m3fn>();
  std::span const scales(static_cast<lowp::float8_e8m0fnu*>(other.data),
                         (codes.size() + 127) / 128);
  lowp::cuda::update(stream, a.of<lowp::bfloat16>(), b.of<float>(),
                     lowp::blocks_of<128>(codes, scales),
                     lowp::blocks_of<128>(d.of<lowp::float8_e5m2>(), scales), lowp::adamw{}, 1,
                     lowp::stochastic{1});
  lowp::cuda::update(stream, a.of<lowp::bfloat16>(), b.of<float>(), d.of<lowp::bfloat16>(),
                     lowp::lion{}, 1, lowp::stochastic{1});
}

template <class T>
void rows(cudaStream_t stream, memory const& a, memory const& b, memory const& other) {
  auto const in = a.of<T>();
  auto const out = b.of<T>();
  lowp::cuda::softmax(stream, in, out, 100);
  lowp::cuda::log_softmax(stream, in, out, 100);
  lowp::cuda::rms_norm(stream, in, in.first(100), out, 100, 1e-6f);
  lowp::cuda::layer_norm(stream, in, in.first(100), in.first(100), out, 100, 1e-6f);
  lowp::cuda::add_rms_norm(stream, out, in, in.first(100), other.of<T>(), 100, 1e-6f);
  lowp::cuda::add_layer_norm(stream, out, in, in.first(100), in.first(100), other.of<T>(), 100,
                             1e-6f, lowp::stochastic{1});
  lowp::cuda::layer_norm(stream, lowp::strided_rows{in, 104}, in.first(100), in.first(100),
                         lowp::strided_rows{out, 104}, 100, 1e-6f, other.of<float>().first(10),
                         other.of<float>().last(10));
  std::span const flags(static_cast<std::uint8_t const*>(other.data), in.size());
  lowp::cuda::scale_mask_softmax(stream, in, lowp::attention_mask<std::uint8_t>{flags, 5, 2}, out,
                                 100, 0.5f);
  lowp::cuda::scale_mask_softmax(
      stream, in, lowp::attention_mask<T>{std::span<T const>(other.of<T>())}, out, 100, 0.5f);
  lowp::cuda::scale_mask_softmax(stream, in, lowp::causal_mask{5}, out, 100, 0.5f);
  lowp::cuda::rms_norm_backward(stream, in, in.first(100), in, other.of<float>().first(10),
                                lowp::added_to{out}, other.of<float>().last(100), 100,
                                std::span(static_cast<double*>(other.data), 100));
  std::span const ids(static_cast<std::int64_t const*>(other.data), 10);
  lowp::cuda::gather_rows(stream, in, ids, out, 100);
  lowp::cuda::scatter_add_rows(stream, in, ids, out, 100,
                               std::span(static_cast<std::uint64_t*>(other.data), 20));
}

#ifndef LOWP_TEST_SOME

template <class From, class To>
void casts_of(cudaStream_t stream, const memory& a, const memory& b) {
  auto const numbers = a.of<From>();
  auto const out = b.of<To>();
  lowp::cuda::cast(stream, numbers, out);
  lowp::cuda::cast(stream, numbers, out, lowp::stochastic{1}, lowp::overflow::saturate);
  lowp::cuda::cast(stream, numbers, out, static_cast<lowp::stochastic const*>(a.data));
  lowp::cuda::cast(stream, numbers, out, lowp::upward{});
}
void casts_of_numbers(cudaStream_t stream, memory const& a, memory const& b) {
  casts_of<double, float>(stream, a, b);
  casts_of<double, lowp::bfloat16>(stream, a, b);
  casts_of<std::uint64_t, float>(stream, a, b);
  casts_of<std::int8_t, lowp::bfloat16>(stream, a, b);
  lowp::cuda::cast(stream, a.of<float>(), b.of<double>());
  lowp::cuda::cast(stream, a.of<lowp::bfloat16>(), b.of<double>());
  lowp::cuda::cast(stream, a.of<lowp::float8_e4m3fn>(), b.of<double>());
}

void storages(cudaStream_t stream, memory const& a, memory const& b, memory const& c,
              memory const& d, memory const& other) {
  auto const p = a.of<lowp::bfloat16>();
  auto const rest = b.of<lowp::bfloat16>();
  auto const wide = b.of<float>();
  auto const m = c.of<float>();
  auto const v = d.of<float>();
  std::span const low(static_cast<std::uint16_t*>(b.data), p.size());
  std::span const low8(static_cast<std::uint8_t*>(b.data), p.size());
  lowp::stochastic const random{1};
  auto* const report = static_cast<lowp::update_report*>(other.data);
  lowp::cuda::update(stream, lowp::kahan{p, rest}, wide, m, v, lowp::adamw{}, 1);
  auto const* const state = static_cast<lowp::cuda::step_state const*>(other.data);
  lowp::cuda::update(stream, lowp::kahan{p, rest}, wide, m, v, lowp::adamw{}, state, random,
                     report);
  lowp::cuda::update(stream, lowp::master{wide, p}, p, m, v, lowp::adamw{}, 1);
  lowp::cuda::update(stream, lowp::split_master{p, low}, wide, m, v, lowp::adamw{}, 1);
  lowp::cuda::update(stream, lowp::split_master{p, low8}, wide, m, v, lowp::adamw{}, 1, random);
  lowp::cuda::update(stream, lowp::scaled{a.of<lowp::float16>(), 8.0f}, wide, m, v, lowp::adamw{},
                     1, random);
  lowp::cuda::split(stream, wide, p, low);
  lowp::cuda::join(stream, p, low, wide);
}

void gradients(cudaStream_t stream, memory const& a, memory const& b, memory const& other) {
  auto const g = a.of<lowp::bfloat16>();
  auto const wide = b.of<float>();
  auto* const report = static_cast<lowp::gradient_report*>(other.data);
  lowp::cuda::unscale(stream, g, 0.5f, report, lowp::stochastic{1});
  lowp::cuda::unscale(stream, wide, static_cast<float const*>(a.data), report);
  lowp::cuda::measure(stream, g, report);
  lowp::cuda::measure(stream, wide, report);
  auto* const sum = static_cast<lowp::sum_report*>(other.data);
  lowp::cuda::sum(stream, g, sum);
  lowp::cuda::dot(stream, g, wide, sum);
  auto const codes = a.of<lowp::float8_e4m3fn>();
  std::span const scales(static_cast<lowp::float8_e8m0fnu*>(other.data), (codes.size() + 31) / 32);
  lowp::cuda::block_cast(stream, wide, lowp::blocks_of<32>(codes, scales));
  lowp::cuda::block_cast(stream, lowp::blocks_of<32>(codes, scales), wide);
}

void censuses(cudaStream_t stream, memory const& a, memory const& b, memory const& other) {
  lowp::cuda::census(stream, a.of<float>(),
                     static_cast<lowp::census_report<lowp::float16>*>(other.data));
  lowp::cuda::abs_range_of(stream, a.of<float>(),
                           static_cast<lowp::abs_range_report<lowp::float16>*>(other.data));
  lowp::cuda::abs_range_of(stream, b.of<lowp::bfloat16>(),
                           static_cast<lowp::abs_range_report<float>*>(other.data));
  lowp::cuda::update(stream, a.of<float>(), b.of<lowp::bfloat16>(), lowp::sgd{.lr = 1}, 1,
                     lowp::nearest_even{}, static_cast<lowp::update_amax*>(other.data));
  auto const all = a.of<lowp::bfloat16>();
  lowp::cuda::update(stream, all, all, all, all, lowp::adamw{}, 1, lowp::stochastic{1},
                     static_cast<lowp::moment_report*>(other.data));
}

void activations(cudaStream_t stream, memory const& a, memory const& b, memory const& c) {
  auto const x = a.of<lowp::float16>();
  lowp::cuda::clamp_overflow(stream, x, static_cast<lowp::clamp_report_of<lowp::float16>*>(c.data));
  lowp::cuda::scale_by_power_of_two(stream, x, b.of<float>(), 3);
  lowp::cuda::scale_by_power_of_two(stream, b.of<float>(), x, -3,
                                    static_cast<lowp::scaling_report*>(c.data));
  lowp::cuda::gelu_tanh(stream, x, b.of<lowp::float16>());
  lowp::cuda::gated_gelu_tanh(stream, b.of<float>(), x, c.of<lowp::bfloat16>(),
                              lowp::stochastic{1});
  lowp::cuda::gelu(stream, x, b.of<lowp::float16>());
  lowp::cuda::gated_silu_backward(stream, x, x, x, b.of<lowp::float16>(), c.of<lowp::float16>());
}

struct doubled {
  template <class F>
  LOWP_HOST_DEVICE F operator()(F const& x) const {
    return lowp::lanes::add(x, x);
  }
};

#endif

}  // namespace

void instances(cudaStream_t stream, memory const& a, memory const& b, memory const& c,
               memory const& d, memory const& other);
void instances(cudaStream_t stream, memory const& a, memory const& b, memory const& c,
               memory const& d, memory const& other) {
  casts<lowp::bfloat16>(stream, a, b);
  casts<lowp::float8_e4m3fn>(stream, a, b);
  steps<lowp::bfloat16, float>(stream, a, b, c, d, other);
  blocks(stream, a, b, c, d, other);
  rows<lowp::bfloat16>(stream, a, b, other);
  auto& largest = *static_cast<lowp::amax*>(other.data);
  auto const* const scale = static_cast<float const*>(other.data);
  lowp::cuda::scaled_cast(stream, a.of<lowp::bfloat16>(), b.of<lowp::float8_e4m3fn>(), scale,
                          largest);
  lowp::cuda::census(stream, b.of<lowp::bfloat16>(),
                     static_cast<lowp::census_report<lowp::float8_e4m3fn>*>(other.data));
#ifndef LOWP_TEST_SOME
  casts<lowp::float16>(stream, a, b);
  casts<lowp::float8_e4m3fnuz>(stream, a, b);
  casts<lowp::float8_e8m0fnu>(stream, a, b);
  casts_of_numbers(stream, a, b);
  storages(stream, a, b, c, d, other);
  gradients(stream, a, b, other);
  rows<float>(stream, a, b, other);
  censuses(stream, a, b, other);
  activations(stream, a, b, c);
  lowp::cuda::scaled_cast(stream, a.of<lowp::bfloat16>(), b.of<lowp::float8_e5m2>(), 2.0f,
                          lowp::stochastic{1});
  lowp::cuda::transform(stream, doubled{}, lowp::nearest_even{}, a.of<lowp::bfloat16>(),
                        b.of<lowp::bfloat16>());
#endif
}
