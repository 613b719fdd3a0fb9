// SPDX-License-Identifier: Apache-2.0
// oneDNN: softmax, GELU, SiLU and layer norm, in float and bfloat16: its float16, see onednn.cpp.
#include "onednn.hpp"

#include "operations/maps.hpp"

#include <lowp/lowp.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

namespace {

namespace onednn = bench::onednn;

constexpr auto inference = dnnl::prop_kind::forward_inference;

/// If both round float's result to bfloat16, they may be on two sides of a tie.
template <class T>
constexpr bench::tolerance close(double absolute = 0x1p-20) {
  return {std::is_same_v<T, float> ? 0x1p-17 : 0x1p-7, absolute};
}

template <class T, class Own>
void add_softmax(bench::suite& cases, std::string const& name, dnnl::algorithm algorithm, Own own,
                 bench::tolerance allowed) {
  for (std::size_t const columns : bench::softmax_columns) {
    auto const make = [=](std::size_t n) {
      auto const all = onednn::rows(onednn::type_of<T>, n, columns);
      dnnl::softmax_v2_forward::desc const what(inference, algorithm, all, all, 1);
      return onednn::call(dnnl::softmax_v2_forward({what, onednn::engine()}), all, all);
    };
    bench::add_map_peer<T>(
        cases, name + "/" + std::to_string(columns) + "/onednn", {bench::scores, columns},
        [=](auto in, auto out) { own(in, out, columns); }, onednn::made_once(make), allowed);
  }
}

template <class T>
void add_softmaxes(bench::suite& cases, std::string const& type) {
  add_softmax<T>(
      cases, type, dnnl::algorithm::softmax_accurate,
      [](auto in, auto out, std::size_t columns) { lowp::softmax(in, out, columns); }, close<T>(0));
  add_softmax<T>(
      cases, "log/" + type, dnnl::algorithm::softmax_log,
      [](auto in, auto out, std::size_t columns) { lowp::log_softmax(in, out, columns); },
      close<T>(0x1p-18));
}

template <class T, class Own>
void add_activation(bench::suite& cases, std::string const& name, dnnl::algorithm algorithm,
                    Own own) {
  auto const make = [=](std::size_t n) {
    auto const all = onednn::elements(onednn::type_of<T>, n);
    dnnl::eltwise_forward::desc const what(inference, algorithm, all, 1);
    return onednn::call(dnnl::eltwise_forward({what, onednn::engine()}), all, all);
  };
  bench::add_map_peer<T>(cases, name + "/onednn", {}, own, onednn::made_once(make), close<T>());
}

template <class T>
void add_activations(bench::suite& cases, std::string const& type) {
  using enum dnnl::algorithm;
  add_activation<T>(cases, "gelu_tanh/" + type, eltwise_gelu_tanh,
                    [](auto in, auto out) { lowp::gelu_tanh(in, out); });
  add_activation<T>(cases, "gelu/" + type, eltwise_gelu_erf,
                    [](auto in, auto out) { lowp::gelu(in, out); });
  add_activation<T>(cases, "silu/" + type, eltwise_swish,
                    [](auto in, auto out) { lowp::silu(in, out); });
}

/// Weight and bias are float's whatever the elements are.
template <class T>
void add_layer_norm(bench::suite& cases, std::string const& type) {
  bench::norm_parameters<T> const p;
  bench::norm_parameters<float> floats;
  lowp::cast(p.weight, floats.weight);
  lowp::cast(p.bias, floats.bias);
  auto const make = [floats](std::size_t n) {
    auto const all = onednn::rows(onednn::type_of<T>, n, bench::norm_columns);
    auto const each = onednn::elements(onednn::type_of<float>, bench::norm_columns);
    using flags = dnnl::normalization_flags;
    dnnl::layer_normalization_forward::desc const what(inference, all, bench::norm_eps,
                                                       flags::use_scale | flags::use_shift);
    auto const copy = [&](std::vector<float> const& values) {
      dnnl::memory memory(each, onednn::engine());
      std::copy(values.begin(), values.end(), static_cast<float*>(memory.get_data_handle()));
      return memory;
    };
    return onednn::call(
        dnnl::layer_normalization_forward({what, onednn::engine()}), all, all,
        {{DNNL_ARG_SCALE, copy(floats.weight)}, {DNNL_ARG_SHIFT, copy(floats.bias)}});
  };
  bench::add_map_peer<T>(
      cases, "layer_norm/" + type + "/onednn", {.least = bench::norm_columns},
      [p](auto in, auto out) {
        lowp::layer_norm(in, p.weight, p.bias, out, bench::norm_columns, bench::norm_eps);
      },
      onednn::made_once(make), close<T>());
}

bench::peer const softmax("softmax", [](bench::suite& cases) {
  onednn::begin();
  add_softmaxes<float>(cases, "float");
  if (onednn::has_bfloat16()) add_softmaxes<lowp::bfloat16>(cases, "bfloat16");
});

bench::peer const pieces("pieces", [](bench::suite& cases) {
  onednn::begin();
  add_activations<float>(cases, "float");
  add_layer_norm<float>(cases, "float");
  if (!onednn::has_bfloat16()) return;
  add_activations<lowp::bfloat16>(cases, "bfloat16");
  add_layer_norm<lowp::bfloat16>(cases, "bfloat16");
});

}  // namespace
