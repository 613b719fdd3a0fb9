// SPDX-License-Identifier: Apache-2.0
// The operator torch.ops.lowp.adamw_: a step over a parameter group, on all threads. lowp_torch.py
// builds and calls it.
#include <lowp/openmp.hpp>
#include <lowp/storage.hpp>
#include <lowp/torch.hpp>

#include <torch/library.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace {

using lowp::bfloat16;

/// Makes spans of the tensors of one parameter. An error names the parameter.
struct viewer {
  std::string const& name;

  template <class T>
  std::span<T> of(char const* what, at::Tensor const& tensor) const {
    try {
      return lowp::view<T>(tensor);
    } catch (std::invalid_argument const& error) {
      throw std::invalid_argument(name + ", " + what + ": " + error.what());
    }
  }
};

/// Storages of a parameter p. `extra` is the tensor beside it, if there is one.
template <class T>
struct plain {
  using element = T;
  using storage = T;
  static auto of(viewer const& view, at::Tensor const& p, at::Tensor const&) {
    return view.of<T>("value", p);
  }
};
struct kahan {
  using element = bfloat16;
  using storage = lowp::kahan<bfloat16, bfloat16>;
  static storage of(viewer const& view, at::Tensor const& p, at::Tensor const& extra) {
    return {view.of<bfloat16>("value", p), view.of<bfloat16>("kahan", extra)};
  }
};
struct master {
  using element = bfloat16;
  using storage = lowp::master<float, bfloat16>;
  static storage of(viewer const& view, at::Tensor const& p, at::Tensor const& extra) {
    return {view.of<float>("master", extra), view.of<bfloat16>("value", p)};
  }
};
using any_storage = std::variant<plain<float>, plain<bfloat16>, kahan, master>;
using any_moment = std::variant<std::type_identity<float>, std::type_identity<bfloat16>>;
using any_rounding = std::variant<lowp::nearest_even, lowp::stochastic, lowp::stochastic_fast>;

std::invalid_argument unknown(char const* name, std::string const& value, char const* known) {
  return std::invalid_argument(std::string(name) + " is " + value + ", and must be " + known);
}
any_storage storage_of(std::string const& name, at::ScalarType dtype) {
  if (name == "plain" && dtype == at::kFloat) return plain<float>();
  if (name == "plain") return plain<bfloat16>();
  if (name == "kahan") return kahan();
  if (name == "master") return master();
  throw unknown("storage", name, "plain, kahan or master");
}
any_moment moment_of(at::ScalarType dtype) {
  if (dtype == at::kFloat) return std::type_identity<float>();
  if (dtype == at::kBFloat16) return std::type_identity<bfloat16>();
  throw unknown("state_dtype", c10::toString(dtype), "Float or BFloat16");
}
any_rounding rounding_of(std::string const& name, std::int64_t seed, std::int64_t first) {
  auto const key = static_cast<std::uint64_t>(seed);
  auto const stream = lowp::stream_of(static_cast<std::uint32_t>(first), 0);
  if (name == "nearest") return lowp::nearest_even();
  if (name == "stochastic") return lowp::stochastic{key, stream};
  if (name == "stochastic_fast") return lowp::stochastic_fast{key, stream};
  throw unknown("rounding", name, "nearest, stochastic or stochastic_fast");
}

/// A tensor for each parameter of a group, or none.
using column = std::vector<std::optional<at::Tensor>>;

/// Steps the parameters that have a gradient; lowp_torch.py has the meaning of the arguments.
void adamw_(std::vector<at::Tensor> const& parameters, column const& gradients, column const& m,
            column const& v, column const& extra, std::vector<std::string> const& names,
            at::ScalarType dtype, std::string const& storage, at::ScalarType state_dtype,
            std::string const& rounding, std::int64_t seed, std::int64_t first, double lr,
            double beta1, double beta2, double eps, double weight_decay, std::int64_t step) {
  column in_order(parameters.size());  // copies of gradients that are not in row-major order
  auto const tensor_of = [](column const& all, std::size_t i) {
    return all[i].value_or(at::Tensor());
  };
  auto const update = [&]<class P, class S>(P, std::type_identity<S>, auto const& mode) {
    using G = typename P::element;
    // Its place in the list keys a tensor's random bits. Without a gradient it has no elements.
    std::vector<lowp::adamw_tensor<typename P::storage, G, S, S>> list(parameters.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!gradients[i]) continue;
      bool const is_strided = gradients[i]->layout() == at::kStrided;
      in_order[i] = is_strided ? gradients[i]->contiguous().resolve_neg() : *gradients[i];
      viewer const view{names[i]};
      list[i] = {P::of(view, parameters[i], tensor_of(extra, i)),
                 view.of<G const>("gradient", *in_order[i]), view.of<S>("exp_avg", tensor_of(m, i)),
                 view.of<S>("exp_avg_sq", tensor_of(v, i))};
    }
    lowp::openmp::update(list, lowp::adamw{lr, beta1, beta2, eps, weight_decay}, step, mode);
  };
  try {
    std::visit(update, storage_of(storage, dtype), moment_of(state_dtype),
               rounding_of(rounding, seed, first));
  } catch (std::invalid_argument const& error) {
    TORCH_CHECK_VALUE(false, error.what());
  }
  for (std::size_t i = 0; i < parameters.size(); ++i)  // for autograd
    if (gradients[i]) parameters[i].unsafeGetTensorImpl()->bump_version();
}

}  // namespace

TORCH_LIBRARY(lowp, library) {
  library.def(
      "adamw_(Tensor(a!)[] parameters, Tensor?[] gradients, Tensor?[] m, Tensor?[] v, "
      "Tensor?[] extra, str[] names, ScalarType dtype, str storage, ScalarType state_dtype, "
      "str rounding, int seed, int first, float lr, float beta1, float beta2, float eps, "
      "float weight_decay, int step) -> ()",
      &adamw_);
}
