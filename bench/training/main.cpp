// SPDX-License-Identifier: Apache-2.0
// Trains small models once for each way of storing them, and writes what came of it, one line a
// run.
#include <fmt/core.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "loss_scaling.hpp"
#include "plan.hpp"

namespace {

using namespace training;

struct options {
  std::string text, digits, csv, tensors_csv, loss_scaling_csv;
  std::vector<std::string> tasks, configurations;
  std::uint64_t seeds = 5;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  bool is_quick = false;
};

struct job {
  plan const* what;
  rate const* how_fast;
  configuration stored;
  std::uint64_t seed;
  tensors<float> const* pretrained;

  schedule when() const {
    schedule own = how_fast->when;
    own.lr *= stored.rate;
    return own;
  }
  outcome run() const {
    return training::run(*what->learned, stored, when(), seed,
                         how_fast->is_fine_tuning
                             ? *pretrained
                             : initial_weights<float>(what->learned->shapes(), seed));
  }
};

struct cell {
  std::string_view column;
  std::string value;
};

using row = std::vector<cell>;
using rows = std::vector<row>;

template <class T>
std::string text_of(T const& value) {
  return fmt::format("{}", value);
}
// Text with commas in it.
std::string quoted(std::string_view text) { return fmt::format("\"{}\"", text); }
std::string loss_text(double loss) { return fmt::format("{:.6f}", loss); }

row cells_of_run(job const& j) {
  return {{"task", text_of(j.what->name)},
          {"rate", text_of(j.how_fast->name)},
          {"configuration", j.stored.text()},
          {"seed", text_of(j.seed)}};
}

row row_of(job const& j, outcome const& o) {
  lowp::update_report const report = o.report();
  auto const share = [&](std::uint64_t count) {
    return fmt::format("{:.6f}", static_cast<double>(count) / static_cast<double>(report.count));
  };
  std::vector<std::string> curve;
  for (double const loss : o.held_out) curve.push_back(fmt::format("{:.5f}", loss));
  row cells = cells_of_run(j);
  cells.insert(cells.end(), {{"weights", quoted(j.stored.weights)},
                             {"moments", quoted(j.stored.moments)},
                             {"gradients", quoted(j.stored.gradients)},
                             {"parameters", text_of(report.count / j.how_fast->when.steps)},
                             {"bytes", fmt::format("{:.4f}", o.bytes)},
                             {"gradient_bytes", fmt::format("{:.4f}", o.gradient_bytes)},
                             {"steps", text_of(j.how_fast->when.steps)},
                             {"lr", text_of(j.when().lr)},
                             {"held_out", loss_text(o.held_out.back())},
                             {"rounded", loss_text(o.rounded)},
                             {"stochastic_rounded", loss_text(o.stochastic_rounded)},
                             {"applied_ratio", fmt::format("{:.6f}", report.applied_ratio())},
                             {"stalled", share(report.stalled)},
                             {"overflowed", text_of(report.overflowed)},
                             {"nonfinite", text_of(report.nonfinite)},
                             {"mean_request", fmt::format("{:.4g}", o.mean_request)},
                             {"largest_request", fmt::format("{:.4g}", o.largest_request)},
                             {"zero_second", fmt::format("{:.6f}", o.zero_second)},
                             {"update_us", fmt::format("{:.1f}", o.update_seconds * 1e6)},
                             {"step_us", fmt::format("{:.1f}", o.step_seconds * 1e6)},
                             {"curve", fmt::format("{}", fmt::join(curve, ";"))}});
  return cells;
}

rows tensor_rows_of(job const& j, outcome const& o) {
  rows result;
  std::vector<tensor_shape> const& shapes = j.what->learned->shapes();
  for (std::size_t t = 0; t < shapes.size(); ++t) {
    lowp::update_report const& r = o.reports[t];
    row cells = cells_of_run(j);
    cells.insert(cells.end(), {{"tensor", shapes[t].name},
                               {"size", text_of(shapes[t].size())},
                               {"moved", text_of(o.moved[t])},
                               {"stalled", fmt::format("{:.6f}", static_cast<double>(r.stalled) /
                                                                     static_cast<double>(r.count))},
                               {"applied_ratio", fmt::format("{:.6f}", r.applied_ratio())}});
    result.push_back(std::move(cells));
  }
  return result;
}

// The rows of the jobs in their order, after the names of the columns. A row is written as soon as
// all before it are there.
class ordered_file {
 public:
  explicit ordered_file(std::string const& path) {
    if (path.empty()) return;
    file_.emplace(path);
    if (!*file_) throw std::runtime_error("cannot write '" + path + "'");
  }
  void add(std::size_t place, rows of_job) {
    if (!file_) return;
    if (place >= waiting_.size()) waiting_.resize(place + 1);
    waiting_[place] = std::move(of_job);
    for (; next_ < waiting_.size() && waiting_[next_]; ++next_)
      for (row const& r : *waiting_[next_]) write(r);
    file_->flush();
    if (!*file_) throw std::runtime_error("cannot write all of a file");
  }

 private:
  void write(row const& r) {
    if (!std::exchange(has_head_, true)) write(r, &cell::column);
    write(r, &cell::value);
  }
  template <class Text>
  void write(row const& r, Text cell::* part) {
    for (cell const& c : r) *file_ << (&c == r.data() ? "" : ",") << c.*part;
    *file_ << '\n';
  }

  std::optional<std::ofstream> file_;
  bool has_head_ = false;
  std::vector<std::optional<rows>> waiting_;
  std::size_t next_ = 0;
};

// Calls function(0), ..., function(count - 1). Each call is one thread's own, so what it computes
// does not depend on how many there are.
template <class Function>
void for_each_index(std::size_t count, unsigned threads, Function const& function) {
  std::atomic<std::size_t> next = 0;
  auto const work = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) function(i);
    } catch (...) {
      next = count;
      throw;
    }
  };
  std::vector<std::future<void>> workers;
  for (unsigned i = 0; i < threads; ++i) workers.push_back(std::async(std::launch::async, work));
  for (std::future<void>& w : workers) w.get();
}

std::vector<configuration> configurations_for(options const& o, rate const& r) {
  std::vector<configuration> chosen;
  auto const has = [](auto const& names, std::string_view name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  for (configuration const& c : all_configurations())
    if (has(o.configurations, c.text()) && has(r.only, c.text())) chosen.push_back(c);
  return chosen;
}

void compare(options const& o) {
  for (std::string const& name : o.configurations) configuration_named(name);
  std::vector<plan> const all = plans(o.tasks, o.text, o.digits, o.is_quick);
  std::vector<tensors<float>> pretrained(all.size());
  constexpr std::uint64_t other_seed = 1000;  // no run's own
  for_each_index(all.size(), o.threads, [&](std::size_t i) {
    plan const& p = all[i];
    pretrained[i] = run(*p.learned, configuration_named("fp32"), p.pretraining, other_seed,
                        initial_weights<float>(p.learned->shapes(), other_seed))
                        .weights;
  });

  std::vector<job> jobs;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (rate const& r : all[i].rates)
      for (configuration const& c : configurations_for(o, r))
        for (std::uint64_t seed = 1; seed <= o.seeds; ++seed)
          jobs.push_back({&all[i], &r, c, seed, &pretrained[i]});

  ordered_file runs(o.csv), of_tensors(o.tensors_csv);
  std::mutex mutex;
  for_each_index(jobs.size(), o.threads, [&](std::size_t i) {
    job const& j = jobs[i];
    outcome const result = j.run();
    std::lock_guard const lock(mutex);
    fmt::print("{:<12} {:<6} {:<22} seed {}  held out {:.4f}  applied {:.3f}\n", j.what->name,
               j.how_fast->name, j.stored.text(), j.seed, result.held_out.back(),
               result.report().applied_ratio());
    std::fflush(stdout);
    runs.add(i, {row_of(j, result)});
    // For the figures of all tensors, one seed is enough.
    bool const is_named = j.how_fast->names_tensors && j.seed == 1;
    of_tensors.add(i, is_named ? tensor_rows_of(j, result) : rows{});
  });
}

// On digits, the fastest.
void compare_gradient_storages(options const& o) {
  plan const what = std::move(plans({"digits"}, o.text, o.digits, o.is_quick).front());
  struct scaled_job {
    gradient_storage const* stored;
    int exponent;  // of the loss's weight
    std::uint64_t seed;
  };
  std::vector<scaled_job> jobs;
  for (int const exponent : {0, -8, -16, -20})
    for (gradient_storage const& g : gradient_storages())
      for (std::uint64_t seed = 1; seed <= o.seeds; ++seed) jobs.push_back({&g, exponent, seed});
  ordered_file lines(o.loss_scaling_csv);
  std::mutex mutex;
  for_each_index(jobs.size(), o.threads, [&](std::size_t i) {
    scaled_job const& j = jobs[i];
    scaled_outcome const result = j.stored->run(*what.learned, what.rates.front().when, j.seed,
                                                std::ldexp(1.0, j.exponent), *j.stored);
    std::lock_guard const lock(mutex);
    lines.add(i, {{{"task", text_of(what.name)},
                   {"gradients", quoted(j.stored->name)},
                   {"weight_exponent", text_of(j.exponent)},
                   {"seed", text_of(j.seed)},
                   {"held_out", loss_text(result.held_out)},
                   {"underflowed", fmt::format("{:.6f}", result.underflowed)},
                   {"skipped", text_of(result.skipped)},
                   {"scale_exponent", text_of(std::ilogb(result.scale))},
                   {"overflowed", result.overflowed}}});
  });
}

}  // namespace

int main(int argc, char** argv) {
  options o;
  CLI::App app("Trains small models once for each way of storing them.");
  app.add_option("--text", o.text, "file that the language models learn");
  app.add_option("--digits", o.digits, "scikit-learn's digits.csv");
  app.add_option("--tasks", o.tasks, "byte_mlp, digits, transformer; default: all")->delimiter(',');
  app.add_option("--configurations", o.configurations, "default: all")->delimiter(',');
  app.add_option("--seeds", o.seeds, "how many")->capture_default_str();
  app.add_option("--csv", o.csv, "file to write: one line a run of every storage");
  app.add_option("--tensors", o.tensors_csv, "file to write: one line a tensor of the first seed");
  app.add_option("--loss-scaling", o.loss_scaling_csv, "file to write: digits with loss scaling");
  app.add_option("--threads", o.threads, "runs at a time");
  app.add_flag("--quick", o.is_quick, "a fortieth of the steps");
  CLI11_PARSE(app, argc, argv);
  try {
    if (!o.loss_scaling_csv.empty()) compare_gradient_storages(o);
    if (!o.csv.empty()) compare(o);
  } catch (std::exception const& error) {
    fmt::print(stderr, "training: {}\n", error.what());
    return 1;
  }
}
