// SPDX-License-Identifier: Apache-2.0
// A whole model: a transformer of one block learns a small language. Each call of a training loop
// has its place. Weights, gradients, moments and average are bfloat16, activations are float.
#include <lowp/checkpoint.hpp>
#include <lowp/lowp.hpp>
#include <lowp/watch.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "whole_model.hpp"  // products and a text, which are not the library's

using lowp::bfloat16;

constexpr std::size_t width = 32, hidden = 4 * width;
constexpr std::uint64_t warm_up = 40, steps = 400;
constexpr float score_scale = 0.1767767f;  // 1 / sqrt(width)

struct parameter {
  std::string name;
  std::size_t rows, columns;
  std::vector<bfloat16> w, g, m, v, average;

  parameter(char const* its_name, std::size_t its_rows, std::size_t its_columns)
      : name(its_name),
        rows(its_rows),
        columns(its_columns),
        w(rows * columns),
        g(w),
        m(w),
        v(w),
        average(w) {}
};
using kept = std::vector<bfloat16> parameter::*;  // which of them: the weights or their average

// Products and norms compute with float copies, which live as long as the call.
floats copy_of(std::vector<bfloat16> const& x) {
  floats copy(x.size());
  lowp::cast(x, copy);
  return copy;
}
floats rows_of(std::vector<bfloat16> const& table, std::vector<int> const& ids) {
  std::vector<bfloat16> rows(ids.size() * width);
  lowp::gather_rows(table, ids, rows, width);
  return copy_of(rows);
}
floats linear(floats const& x, parameter const& p, kept w) {
  return product(form::abt, x, p.columns, copy_of(p.*w), p.columns);
}
floats linear_backward(floats const& x, parameter& p, floats const& dy) {
  lowp::cast(product(form::atb, dy, p.rows, x, p.columns), p.g);  // rounded once: sums are float
  return product(form::ab, dy, p.rows, copy_of(p.w), p.columns);
}

struct norm {
  parameter weight;
  floats x{}, reciprocal_rms = floats(tokens);  // for the derivative

  // Adds to the stream of residual sums, and returns its norm.
  floats add(floats& stream, floats const& addend, kept w) {
    floats y(addend.size());
    lowp::add_rms_norm(stream, addend, copy_of(weight.*w), y, width, 1e-5f, reciprocal_rms);
    x = stream;
    return y;
  }
  // Adds to the derivative of the stream.
  void backward(floats const& dy, floats& dx) {
    floats dweight(width);
    lowp::rms_norm_backward(x, copy_of(weight.w), dy, reciprocal_rms, lowp::added_to{dx}, dweight,
                            width);
    lowp::cast(dweight, weight.g);
  }
};

struct model {
  parameter token{"token", characters, width}, position{"position", context, width};
  norm norm1{{"norm1", 1, width}}, norm2{{"norm2", 1, width}}, norm3{{"norm3", 1, width}};
  parameter query{"query", width, width}, key{"key", width, width}, value{"value", width, width};
  parameter out{"out", width, width}, up{"up", hidden, width}, down{"down", width, hidden};
  parameter head{"head", characters, width};
  std::array<parameter*, 12> parameters{&token, &position,     &query,        &key,
                                        &value, &out,          &up,           &down,
                                        &head,  &norm1.weight, &norm2.weight, &norm3.weight};

  // Lists own nothing: they refer to the vectors above. Norms have their own, without decay.
  std::vector<lowp::adamw_tensor<bfloat16>> matrices, norms;
  std::vector<lowp::sgd_tensor<bfloat16>> averages;
  std::vector<lowp::named<bfloat16>> gradients;

  std::uint64_t step = 0, seed = 42;
  lowp::loss_scaler scaler;
  lowp::update_report moved, moved_average;  // of all steps
  lowp::stall_watch stalls;
  lowp::overflow_watch<> watch;
  std::size_t attention = watch.add("attention", "Attention"), mlp = watch.add("mlp", "MLP");

  floats n1, q, k, v, p, mixed, n2, h, active, n3, dlogits;  // kept for backward

  model() {
    auto random = random_numbers(1);
    for (parameter* each : parameters) {
      bool const is_norm = each->rows == 1;
      float const largest = 1.7f / std::sqrt(float(each->columns));
      for (bfloat16& w : each->w) w = is_norm ? 1 : largest * (float(random() % 2001) / 1000 - 1);
      each->average = each->w;
      (is_norm ? norms : matrices).push_back({each->w, each->g, each->m, each->v, each->name});
      averages.push_back({each->average, each->w, each->name});
      gradients.push_back({each->name, each->g});
    }
  }
  model(model const&) = delete;  // its lists would refer to the first one

  // Returns the mean loss. `dlogits` becomes its derivative, times the loss scale.
  double forward(batch const& text, kept w) {
    floats x = rows_of(token.*w, text.in);  // the stream of residual sums stays float
    n1 = norm1.add(x, rows_of(position.*w, text.place), w);
    q = linear(n1, query, w), k = linear(n1, key, w), v = linear(n1, value, w);
    p = product(form::abt, q, width, k, width, sequences);
    lowp::scale_mask_softmax(p, lowp::causal_mask{context}, p, context, score_scale);
    mixed = product(form::ab, p, context, v, width, sequences);
    n2 = norm2.add(x, linear(mixed, out, w), w);
    watch.forward(attention).weight(out.*w).input(norm1.x).output(x);

    h = linear(n2, up, w);
    active.resize(h.size());
    lowp::gelu(h, active);
    n3 = norm3.add(x, linear(active, down, w), w);
    watch.forward(mlp).weight(down.*w).input(norm2.x).output(x);

    dlogits = linear(n3, head, w);
    floats losses(tokens);
    lowp::sum_report loss;
    lowp::cross_entropy(dlogits, text.next, characters,
                        {.reduction = lowp::loss_reduction::averaged, .scale = scaler.scale},
                        losses, dlogits, loss);
    return loss.mean();
  }

  void backward(batch const& text) {
    floats dx(tokens * width);
    norm3.backward(linear_backward(n3, head, dlogits), dx);
    floats dh = linear_backward(active, down, dx);
    lowp::gelu_backward(h, dh, dh);
    norm2.backward(linear_backward(n2, up, dh), dx);

    floats const dmixed = linear_backward(mixed, out, dx);
    floats dp = product(form::abt, dmixed, width, v, width, sequences);
    lowp::scale_mask_softmax_backward(p, dp, dp, context, score_scale);
    floats dn = linear_backward(n1, query, product(form::ab, dp, context, k, width, sequences));
    lowp::fused_add(dn, 1,
                    linear_backward(n1, key, product(form::atb, dp, context, q, width, sequences)));
    lowp::fused_add(
        dn, 1,
        linear_backward(n1, value, product(form::atb, p, context, dmixed, width, sequences)));
    norm1.backward(dn, dx);

    token.g.assign(token.g.size(), bfloat16()), position.g.assign(position.g.size(), bfloat16());
    lowp::scatter_add_rows(dx, text.in, token.g, width);  // which adds to what is there
    lowp::scatter_add_rows(dx, text.place, position.g, width);
  }

  void optimize() {
    lowp::gradient_report seen;
    lowp::unscale(gradients, scaler, seen);
    if (!scaler.found_nonfinite()) {  // else the scale falls, and the weights stay
      lowp::clip(gradients, 1.0);

      // A schedule: up to the full rate, and down to almost 0.
      lowp::adamw optimizer{.lr = 3e-3, .weight_decay = 0.1};
      optimizer.lr *= std::min(double(step) / warm_up, 1 - double(step) / (steps + 1));
      if (step == 100)  // the first steps are larger than later ones
        std::puts(lowp::stall_advice(matrices, lowp::update_of(matrices, optimizer, step))
                      .text()
                      .c_str());

      // Each list continues the numbers of tensors, which key their random bits.
      lowp::stochastic_fast const mode{.seed = seed};
      std::vector<lowp::update_report> reports(matrices.size()), of_norms(norms.size());
      lowp::update(matrices, optimizer, step, mode, reports);
      optimizer.weight_decay = 0;
      lowp::update(norms, optimizer, step, mode.of_tensor(unsigned(matrices.size())), of_norms);
      lowp::update(averages, lowp::ema{.decay = 0.99}, step,
                   mode.of_tensor(unsigned(parameters.size())), moved_average);

      // The watch takes reports of one step. Reports of several steps add up.
      for (auto const& alarm : stalls.observe(matrices, optimizer, step, reports))
        std::puts(alarm.text().c_str());
      for (auto const& each : reports) moved += each;
    }
    scaler.update();
  }

  void train(std::uint64_t last) {
    while (step < last) {
      watch.step(++step);
      batch const text = sentences(step);
      forward(text, &parameter::w);
      backward(text);
      optimize();
    }
  }

  // All that the next step reads.
  void describe(lowp::checkpoint& state) {
    state.scalar("step", step).scalar("seed", seed).scaler("scaler", scaler);
    for (parameter* each : parameters)
      state.parameter(each->name, {each->rows, each->columns}, each->w, each->m, each->v)
          .parameter(each->name + ".average", {each->rows, each->columns}, each->average);
  }
  void show() {
    batch const held_out = sentences(1'000'000);
    double const now = forward(held_out, &parameter::w);
    std::printf("step %3d: held-out loss %.2f, with average weights %.2f\n", int(step), now,
                forward(held_out, &parameter::average));
  }
};

int main() {
  std::string const path = "whole_model.safetensors";
  model whole, resumed;
  lowp::checkpoint saved, loaded;
  whole.describe(saved), resumed.describe(loaded);
  whole.show();
  whole.train(steps / 2), saved.save(path);
  whole.show();
  whole.train(steps);
  whole.show();
  std::printf("applied %.2f of the steps, %.2f of the average's\n", whole.moved.applied_ratio(),
              whole.moved_average.applied_ratio());

  loaded.load(path), resumed.train(steps);
  std::remove(path.c_str());
  bool is_equal = true;
  for (std::size_t i = 0; i < whole.parameters.size(); ++i)
    is_equal &= whole.parameters[i]->w == resumed.parameters[i]->w &&
                whole.parameters[i]->average == resumed.parameters[i]->average;
  std::printf("resumed to the bit: %s\n", is_equal ? "yes" : "no");
}
