// SPDX-License-Identifier: Apache-2.0
// The state of a model whose storage is a list of types: the use of lowp.
#pragma once

#include <lowp/lowp.hpp>

#include <memory>
#include <tuple>
#include <vector>

#include "configuration.hpp"
#include "homes.hpp"

namespace training {

template <class Home>
concept is_expecting = requires(Home& home, float largest) { home.expect(largest); };

inline constexpr lowp::adamw adamw{};

/// A tensor: parameter P, gradient G, moments M of an optimizer.
template <auto const& Optimizer, class P, class G, class... M>
class stored_tensor {
 public:
  explicit stored_tensor(numbers<float> const& initial)
      : parameter_(initial),
        gradient_(numbers<float>(initial.size())),
        moments_(M(numbers<float>(initial.size()))...) {}

  void read(numbers<float>& weights) const { parameter_.read(weights); }
  void read_moments(numbers<float>& first, numbers<float>& second) const {
    if constexpr (sizeof...(M) == 2) {
      std::get<0>(moments_).read(first);
      std::get<1>(moments_).read(second);
    }
  }

  void step(numbers<float> const& gradient, double lr, std::uint64_t step,
            lowp::per_slot const& rounding, lowp::update_report& report) {
    gradient_ = G(gradient);
    auto optimizer = Optimizer;
    optimizer.lr = lr;
    if constexpr (sizeof...(M) == 2) expect_results(optimizer, moments_);
    auto const update = [&](auto... policy) {
      std::apply(
          [&](auto&... moment) {
            lowp::update(parameter_.view(), gradient_.view(), moment.view()..., optimizer, step,
                         rounding, policy..., report);
          },
          moments_);
    };
    // A step that is larger than expected is cut, not infinite.
    if constexpr (is_expecting<P>)
      update(lowp::overflow::saturate);
    else
      update();
  }

  std::size_t bytes() const {
    return std::apply(
        [&](auto const&... moment) { return (parameter_.bytes() + ... + moment.bytes()); },
        moments_);
  }
  std::size_t gradient_bytes() const { return gradient_.bytes(); }

 private:
  // Bounds from the last values. A moment is a mean of its last value and of g as it is stored, or
  // g * g. A step of AdamW seldom exceeds lr, and hardly ever eight times that.
  void expect_results(lowp::adamw const& a, auto& moments) {
    auto& [first, second] = moments;
    if constexpr ((is_expecting<P> || ... || is_expecting<M>)) {
      auto const g = static_cast<double>(gradient_.largest());
      auto const expect = [&](auto& home, double kept, double added) {
        if constexpr (is_expecting<std::remove_cvref_t<decltype(home)>>)
          home.expect(static_cast<float>(kept * static_cast<double>(home.largest()) + added));
      };
      expect(parameter_, 1, 8 * a.lr);
      expect(first, a.beta1, (1 - a.beta1) * g);
      expect(second, a.beta2, (1 - a.beta2) * g * g);
    }
  }

  P parameter_;
  G gradient_;
  std::tuple<M...> moments_;
};

template <class Tensor>
class stored_model final : public model_state {
 public:
  stored_model(tensors<float> const& initial, roundings const& how, std::uint64_t seed)
      : how_(how), seed_(seed) {
    tensors_.reserve(initial.size());  // views into one do not follow it when it moves
    for (numbers<float> const& values : initial) tensors_.emplace_back(values);
  }

  void read(tensors<float>& weights) const override {
    for (std::size_t t = 0; t < tensors_.size(); ++t) tensors_[t].read(weights[t]);
  }
  void read_moments(tensors<float>& first, tensors<float>& second) const override {
    for (std::size_t t = 0; t < tensors_.size(); ++t) tensors_[t].read_moments(first[t], second[t]);
  }
  void step(tensors<float> const& gradients, double lr, std::uint64_t step,
            std::span<lowp::update_report> reports) override {
    // `update` puts the step into the stream, and each slot has its own draw.
    for (std::uint32_t t = 0; t < tensors_.size(); ++t)
      tensors_[t].step(gradients[t], lr, step, how_.with(seed_, lowp::stream_of(t, 0)), reports[t]);
  }
  std::size_t bytes() const override {
    std::size_t sum = 0;
    for (Tensor const& t : tensors_) sum += t.bytes();
    return sum;
  }
  std::size_t gradient_bytes() const override {
    std::size_t sum = 0;
    for (Tensor const& t : tensors_) sum += t.gradient_bytes();
    return sum;
  }

 private:
  std::vector<Tensor> tensors_;
  roundings how_;
  std::uint64_t seed_;
};

/// The type of a configuration's `store`.
template <class Tensor>
std::unique_ptr<model_state> store_in(tensors<float> const& initial, roundings const& how,
                                      std::uint64_t seed) {
  return std::make_unique<stored_model<Tensor>>(initial, how, seed);
}
template <auto const& Optimizer, class P, class G, class... M>
constexpr auto store = store_in<stored_tensor<Optimizer, P, G, M...>>;

}  // namespace training
