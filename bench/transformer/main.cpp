// SPDX-License-Identifier: Apache-2.0
// Trains the transformer of model.hpp, once for each way of rounding. Or it writes weights, batches
// and losses for tests/peers/torch/transformer_test.py.
#include <lowp/update.hpp>

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/os.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../training/schedule.hpp"
#include "model.hpp"

namespace {

using namespace transformers;

constexpr std::size_t batch_size = 8, held_out_size = 256;

struct settings {
  std::string text, csv, beside;
  std::vector<std::string> names;
  std::uint64_t seeds = 5, steps = 2000;
  double lr = 8e-3;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
};

training::stretches batch_of(training::corpus const& text, std::uint64_t seed, std::uint64_t step) {
  return training::drawn(text.training_part(), batch_size, transformer<float>::length, true, seed,
                         step);
}

/// Held-out losses of trained weights: by the products of the training, and by exact ones.
struct held_out {
  double same, exact;
};

/// Trains from the initial weights of a seed with AdamW, and calls see(step, loss of the batch).
/// Weights lie as P between steps.
template <class T, class P, class Mode, class See>
held_out train(training::corpus const& text, operand_rounding const* rounding,
               training::schedule const& when, std::uint64_t seed, See const& see) {
  transformer<T> const model(text, rounding);
  tensors<float> weights = training::initial_weights<float>(model.shapes(), seed);
  tensors<float> gradients = training::zeros<float>(model.shapes()), m = gradients, v = gradients;
  tensors<P> parameters = training::zeros<P>(model.shapes());
  for (std::size_t t = 0; t < weights.size(); ++t) lowp::cast(weights[t], parameters[t]);
  for (std::uint64_t step = 1; step <= when.steps; ++step) {
    for (std::size_t t = 0; t < weights.size(); ++t) lowp::cast(parameters[t], weights[t]);
    see(step, model.loss(weights, batch_of(text, seed, step), seed, step, &gradients));
    lowp::adamw const optimizer{.lr = training::rate_at(step, when)};
    for (std::size_t t = 0; t < weights.size(); ++t) {
      lowp::per_slot how;
      if constexpr (Mode::is_stochastic)
        how.param = Mode{.seed = seed}.of_tensor(static_cast<std::uint32_t>(t));
      lowp::update(parameters[t], gradients[t], m[t], v[t], optimizer, step, how);
    }
  }
  for (std::size_t t = 0; t < weights.size(); ++t) lowp::cast(parameters[t], weights[t]);
  auto const batch = training::spaced(text.held_out_part(), held_out_size, model.length, true);
  return {model.loss(weights, batch, seed, 0, nullptr),
          transformer<T>(text, nullptr).loss(weights, batch, seed, 0, nullptr)};
}

struct way_to_train {
  std::string name, text;
  std::function<held_out(training::corpus const&, training::schedule const&, std::uint64_t)> run;
};

std::vector<way_to_train> ways() {
  auto const silent = [](std::uint64_t, double) {};
  std::vector<way_to_train> all;
  for (product_format const& format : product_formats())
    all.push_back({std::string(format.name), std::string(format.text),
                   [=](auto const& text, auto const& when, std::uint64_t seed) {
                     auto const rounding = format.make == nullptr ? nullptr : format.make();
                     return train<float, float, lowp::nearest_even>(text, rounding.get(), when,
                                                                    seed, silent);
                   }});
  auto const in_bfloat16 = [&]<class Mode>(std::string const& name, std::string const& how, Mode) {
    all.push_back({name, "bf16 between layers, weights bf16 " + how,
                   [=](auto const& text, auto const& when, std::uint64_t seed) {
                     using lowp::bfloat16;
                     return train<bfloat16, bfloat16, Mode>(text, nullptr, when, seed, silent);
                   }});
  };
  in_bfloat16("bf16-sr", "stochastic", lowp::stochastic{});
  in_bfloat16("bf16-sr-fast", "stochastic_fast", lowp::stochastic_fast{});
  in_bfloat16("bf16", "nearest", lowp::nearest_even{});
  return all;
}

std::vector<std::string> names_of(std::vector<way_to_train> const& all) {
  std::vector<std::string> names;
  for (way_to_train const& w : all) names.push_back(w.name);
  return names;
}

void compare(settings const& s) {
  training::corpus const text(s.text);
  std::vector<way_to_train> all = ways();
  for (std::string const& name : s.names)
    if (std::none_of(all.begin(), all.end(), [&](auto const& w) { return w.name == name; }))
      throw std::runtime_error(fmt::format("no way to train is called '{}': choose among {}", name,
                                           fmt::join(names_of(all), ", ")));
  if (!s.names.empty())
    std::erase_if(all, [&](auto const& w) {
      return std::find(s.names.begin(), s.names.end(), w.name) == s.names.end();
    });
  std::size_t const jobs = all.size() * s.seeds;
  std::vector<held_out> losses(jobs);
  std::atomic<std::size_t> next = 0;
  auto const work = [&] {
    for (std::size_t i = next++; i < jobs; i = next++) {
      way_to_train const& w = all[i / s.seeds];
      losses[i] = w.run(text, {s.lr, s.steps}, i % s.seeds + 1);
      fmt::print("{:<20} seed {}  held out {:.4f}\n", w.name, i % s.seeds + 1, losses[i].same);
      std::fflush(stdout);
    }
  };
  std::vector<std::future<void>> workers;
  for (unsigned i = 0; i < s.threads; ++i) workers.push_back(std::async(std::launch::async, work));
  for (std::future<void>& w : workers) w.get();

  auto file = fmt::output_file(s.csv);
  file.print("way,text,seed,steps,lr,held_out,held_out_exact\n");
  for (std::size_t i = 0; i < jobs; ++i)
    file.print("{},\"{}\",{},{},{},{:.6f},{:.6f}\n", all[i / s.seeds].name, all[i / s.seeds].text,
               i % s.seeds + 1, s.steps, s.lr, losses[i].same, losses[i].exact);
}

template <class T>
void append(std::ofstream& file, std::vector<T> const& values) {
  file.write(reinterpret_cast<char const*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(T)));
}

// shapes.csv, weights.f32 (by columns), batches.u8 (contexts, then targets, of each step) and
// losses.csv (of the batch, before each step).
void write_beside(settings const& s) {
  training::corpus const text(s.text);
  std::filesystem::path const to = s.beside;
  std::filesystem::create_directories(to);
  transformer<float> const model(text, nullptr);
  auto shapes = fmt::output_file((to / "shapes.csv").string());
  shapes.print("name,rows,columns\n");
  for (tensor_shape const& shape : model.shapes())
    shapes.print("{},{},{}\n", shape.name, shape.rows, shape.columns);
  std::ofstream weights(to / "weights.f32", std::ios::binary);
  for (auto const& values : training::initial_weights<float>(model.shapes(), 1))
    weights.write(reinterpret_cast<char const*>(values.data()),
                  static_cast<std::streamsize>(values.size() * sizeof(float)));
  std::ofstream batches(to / "batches.u8", std::ios::binary);
  for (std::uint64_t step = 1; step <= s.steps; ++step) {
    training::stretches const batch = batch_of(text, 1, step);
    append(batches, batch.contexts);
    append(batches, batch.targets);
  }
  auto losses = fmt::output_file((to / "losses.csv").string());
  losses.print("step,lr,loss,bf16\n");
  training::schedule const when{s.lr, s.steps, true};
  std::vector<double> of_floats, of_bf16;
  train<float, float, lowp::nearest_even>(
      text, nullptr, when, 1, [&](std::uint64_t, double loss) { of_floats.push_back(loss); });
  train<lowp::bfloat16, lowp::bfloat16, lowp::stochastic>(
      text, nullptr, when, 1, [&](std::uint64_t, double loss) { of_bf16.push_back(loss); });
  for (std::size_t i = 0; i < of_floats.size(); ++i)
    losses.print("{},{},{:.9f},{:.9f}\n", i + 1, s.lr, of_floats[i], of_bf16[i]);
}

}  // namespace

int main(int argc, char** argv) {
  settings s;
  CLI::App app("Trains a transformer of lowp's layers, once for each way of rounding.");
  app.add_option("--text", s.text, "file that it learns to continue")->required();
  app.add_option("--csv", s.csv, "file to write: one line a run");
  app.add_option("--beside", s.beside, "folder to write: weights, batches and losses of one run");
  app.add_option("--ways", s.names, "default: all")->delimiter(',');
  app.add_option("--seeds", s.seeds, "how many")->capture_default_str();
  app.add_option("--steps", s.steps, "of a run")->capture_default_str();
  app.add_option("--lr", s.lr, "the largest rate")->capture_default_str();
  app.add_option("--threads", s.threads, "runs at a time");
  CLI11_PARSE(app, argc, argv);
  try {
    if (!s.csv.empty()) compare(s);
    if (!s.beside.empty()) write_beside(s);
  } catch (std::exception const& error) {
    fmt::print(stderr, "transformer: {}\n", error.what());
    return 1;
  }
}
