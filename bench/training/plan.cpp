// SPDX-License-Identifier: Apache-2.0
#include "plan.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "byte_mlp.hpp"
#include "digits.hpp"
#include "transformer.hpp"

namespace training {

namespace {

// A task together with its data.
template <class Data, template <class> class Task>
struct with_data final : task<float> {
  Data data;
  Task<float> learned{data};

  explicit with_data(Data read) : data(std::move(read)) {}

  std::vector<tensor_shape> const& shapes() const override { return learned.shapes(); }
  double differentiate(tensors<float> const& weights, std::uint64_t seed, std::uint64_t step,
                       tensors<float>& gradients) const override {
    return learned.differentiate(weights, seed, step, gradients);
  }
  double held_out_loss(tensors<float> const& weights) const override {
    return learned.held_out_loss(weights);
  }
};

// Two rates of AdamW for training from random weights. The first is the best for fp32 within a
// factor of two, as half and double of it show. The second is small, for a model that has been
// trained at a constant rate before.
std::vector<rate> rates(schedule const& normal, schedule const& small) {
  return {{"normal", normal},
          {"small", small, true},
          {"half", {normal.lr / 2, normal.steps}, false, {"fp32", "sgd", "lion"}},
          {"double", {normal.lr * 2, normal.steps}, false, {"fp32", "sgd", "lion"}}};
}

constexpr bool constant = true;

}  // namespace

std::vector<plan> plans(std::vector<std::string> const& names, std::string const& text,
                        std::string const& digits_file, bool quick) {
  auto const wanted = [&](std::string_view name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<plan> all;
  if (wanted("byte_mlp"))
    all.push_back({"byte_mlp",
                   std::make_unique<with_data<corpus, byte_mlp>>(corpus(text)),
                   {5e-3, 1500, constant},
                   rates({5e-3, 3000}, {2e-5, 2000})});
  if (wanted("digits"))
    all.push_back({"digits",
                   std::make_unique<with_data<labelled_images, digits>>(read_digits(digits_file)),
                   {1.5e-3, 60, constant},
                   rates({1.5e-3, 1000}, {2e-5, 2000})});
  if (wanted("transformer")) {
    all.push_back({"transformer",
                   std::make_unique<with_data<corpus, transformer>>(corpus(text)),
                   {8e-3, 1000, constant},
                   rates({8e-3, 2000}, {2e-5, 1500})});
    // GPT-2's rate, at which a bfloat16 that is 1 does not move.
    all.back().rates.push_back(
        {"low", {6e-4, 2000}, false, {"fp32", "bf16", "bf16-sr", "bf16-kahan"}, true});
  }
  for (std::string const& name : names)
    if (std::none_of(all.begin(), all.end(), [&](plan const& p) { return p.name == name; }))
      throw std::runtime_error("there is no task '" + name +
                               "': choose among byte_mlp, digits, transformer");
  if (quick) {
    auto const shorten = [](schedule& s) { s.steps = std::max<std::uint64_t>(s.steps / 40, 8); };
    for (plan& p : all) {
      shorten(p.pretraining);
      for (rate& r : p.rates) shorten(r.when);
    }
  }
  return all;
}

}  // namespace training
