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
                   {2e-3, 4000},
                   {2e-3, 2000, constant},
                   {2e-5, 3000}});
  if (wanted("digits"))
    all.push_back({"digits",
                   std::make_unique<with_data<labelled_images, digits>>(read_digits(digits_file)),
                   {2e-3, 1000},
                   {2e-3, 60, constant},
                   {2e-5, 2000}});
  if (wanted("transformer"))
    all.push_back({"transformer",
                   std::make_unique<with_data<corpus, transformer>>(corpus(text)),
                   {2e-3, 2500},
                   {2e-3, 1200, constant},
                   {2e-5, 2000}});
  for (std::string const& name : names)
    if (std::none_of(all.begin(), all.end(), [&](plan const& p) { return p.name == name; }))
      throw std::runtime_error("there is no task '" + name +
                               "': choose among byte_mlp, digits, transformer");
  if (quick)
    for (plan& p : all)
      for (schedule* s : {&p.normal, &p.pretraining, &p.small})
        s->steps = std::max<std::uint64_t>(s->steps / 40, 8);
  return all;
}

}  // namespace training
