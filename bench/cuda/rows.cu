// SPDX-License-Identifier: Apache-2.0
// Rows of many lengths, and functions of elements.
#include "both.cuh"

namespace {

using namespace bench;
using lowp::bfloat16, lowp::float16;
using bf16 = bfloat16;

constexpr float epsilon = 1e-6f;

std::string at(std::string const& name, std::size_t columns) {
  return name + "/" + std::to_string(columns) + "/lowp";
}

void measure_softmax(suite& all) {
  normal const scores{3};
  for (std::size_t const n : {32, 64, 100, 1001, 4096, 8191, 65536})
    measure_both(
        all, at("softmax/bfloat16", n), n, 4,
        [n](auto on, auto in, auto out) { on.softmax(in, out, n); }, tensor<bf16>{scores},
        tensor<bf16>{});
  for (std::size_t const n : {1024, 4096}) {
    measure_both(
        all, at("log_softmax/bfloat16", n), n, 4,
        [n](auto on, auto in, auto out) { on.log_softmax(in, out, n); }, tensor<bf16>{scores},
        tensor<bf16>{});
    measure_both(
        all, at("scale_mask_softmax/bfloat16,causal", n), n, 4,
        [n](auto on, auto in, auto out) {
          on.scale_mask_softmax(in, lowp::causal_mask{1024}, out, n, 0.5f);
        },
        tensor<bf16>{scores}, tensor<bf16>{});
  }
  for (std::size_t const n : {128, 1024, 4096})
    measure_both(
        all, at("softmax_backward/bfloat16", n), n, 6,
        [n](auto on, auto out, auto dout, auto din) { on.softmax_backward(out, dout, din, n); },
        tensor<bf16>{{1e-3f}}, tensor<bf16>{}, tensor<bf16>{});
}

void measure_norms(suite& all) {
  for (std::size_t const n : {128, 1001, 1024, 4096, 8192})
    measure_both(
        all, at("rms_norm/bfloat16", n), n, 4,
        [n](auto on, auto in, auto weight, auto out) { on.rms_norm(in, weight, out, n, epsilon); },
        tensor<bf16>{}, line<bf16>{}, tensor<bf16>{});
  for (std::size_t const n : {128, 1024, 4096, 8192})
    measure_both(
        all, at("layer_norm/bfloat16", n), n, 4,
        [n](auto on, auto in, auto weight, auto bias, auto out) {
          on.layer_norm(in, weight, bias, out, n, epsilon);
        },
        tensor<bf16>{}, line<bf16>{}, line<bf16>{}, tensor<bf16>{});
  for (std::size_t const n : {1024, 4096})
    measure_both(
        all, at("add_rms_norm/bfloat16", n), n, 8,
        [n](auto on, auto x, auto r, auto weight, auto out) {
          on.add_rms_norm(x, r, weight, out, n, epsilon);
        },
        tensor<bf16>{}, tensor<bf16>{}, line<bf16>{}, tensor<bf16>{});
}

template <class T>
void measure_derivatives(suite& all, std::string const& type) {
  constexpr double bytes = 3 * sizeof(T);
  for (std::size_t const n : {128, 1024, 4096, 8192}) {
    measure_both(
        all, at("rms_norm_backward/" + type, n), n, bytes, lowp::rms_norm_backward_scratch,
        [n](auto on, auto x, auto weight, auto dy, auto rms, auto dx, auto dweight) {
          if constexpr (on.is_device)
            lowp::cuda::rms_norm_backward(on.stream, x, weight, dy, rms, dx, dweight, n,
                                          on.scratch);
          else
            lowp::rms_norm_backward(x, weight, dy, rms, dx, dweight, n);
        },
        tensor<T>{}, line<T>{}, tensor<T>{}, column<float>{}, tensor<T>{}, line<float>{});
    measure_both(
        all, at("layer_norm_backward/" + type, n), n, bytes, lowp::layer_norm_backward_scratch,
        [n](auto on, auto x, auto weight, auto dy, auto mean, auto deviation, auto dx, auto dweight,
            auto dbias) {
          if constexpr (on.is_device)
            lowp::cuda::layer_norm_backward(on.stream, x, weight, dy, mean, deviation, dx, dweight,
                                            dbias, n, on.scratch);
          else
            lowp::layer_norm_backward(x, weight, dy, mean, deviation, dx, dweight, dbias, n);
        },
        tensor<T>{}, line<T>{}, tensor<T>{}, column<float>{}, column<float>{}, tensor<T>{},
        line<float>{}, line<float>{});
  }
}

template <class T>
void measure_cross_entropy(suite& all, std::string const& type, std::size_t n) {
  measure_both(
      all, at("cross_entropy/" + type, n), n, 2 * sizeof(T),
      [n](auto on, auto logits, auto labels, auto losses, auto dlogits) {
        on.cross_entropy(logits, labels, n,
                         lowp::cross_entropy_options{.reduction = lowp::loss_reduction::summed},
                         losses, dlogits);
      },
      tensor<T>{{3}}, column<std::int32_t, label>{{n}}, column<float>{}, tensor<T>{});
}

void measure_elements(suite& all) {
  auto const unary = [&](std::string const& name, auto const& call) {
    measure_both(all, name + "/bfloat16/lowp", 1, 4, call, tensor<bf16>{{3}}, tensor<bf16>{});
  };
  auto const binary = [&](std::string const& name, auto const& call) {
    measure_both(all, name + "/bfloat16/lowp", 1, 6, call, tensor<bf16>{{3}}, tensor<bf16>{},
                 tensor<bf16>{});
  };
  unary("gelu", [](auto on, auto in, auto out) { on.gelu(in, out); });
  unary("gelu_tanh", [](auto on, auto in, auto out) { on.gelu_tanh(in, out); });
  binary("gated_silu", [](auto on, auto in, auto gate, auto out) { on.gated_silu(in, gate, out); });
  binary("gelu_backward",
         [](auto on, auto in, auto dout, auto din) { on.gelu_backward(in, dout, din); });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](suite& all) {
    measure_softmax(all);
    measure_norms(all);
    measure_derivatives<bf16>(all, "bfloat16");
    measure_derivatives<float>(all, "float");
    measure_cross_entropy<bf16>(all, "bfloat16", 50304);
    measure_cross_entropy<float>(all, "float", 50304);
    measure_cross_entropy<bf16>(all, "bfloat16", 128);
    measure_elements(all);
  });
}
