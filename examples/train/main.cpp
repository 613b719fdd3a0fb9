// SPDX-License-Identifier: Apache-2.0
// Trains a small language model once for each way of storing its weights. Shows how far each one
// gets, and how much of the optimizer's updates reached the weights.
//
//   text, model                   what is learned, and by what; in float
//   stored_parameters, modes      what is kept between steps: the use of lowp
//   training                      the loop of one mode
//   display, summary, picture, gnuplot, checkpoint, output_file      what comes out
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <future>
#include <thread>

#include "checkpoint.hpp"
#include "display.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "picture.hpp"
#include "problem.hpp"
#include "summary.hpp"

namespace {

constexpr int done = 0, bad_input = 2, interrupted = 130;

std::atomic<bool> stop = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // so that a signal handler may set it

extern "C" void on_signal(int number) {
  stop = true;
  std::signal(number, SIG_DFL);  // the second one ends the program at once
}

std::vector<mode const*> modes_for(options const& o, checkpoint const* from) {
  std::vector<mode const*> modes;
  auto const add = [&](std::string_view name) {
    mode const* const m = &mode_named(name);
    if (std::find(modes.begin(), modes.end(), m) == modes.end()) modes.push_back(m);
  };
  for (std::string const& name : o.modes) add(name);
  if (o.modes.empty() && from != nullptr)
    for (checkpoint::entry const& e : from->entries) add(e.mode);
  else if (o.modes.empty())
    for (mode const& m : all_modes()) add(m.name);
  return modes;
}

settings settings_for(options const& o, checkpoint const* from) {
  settings s{.steps = o.steps,
             .last = o.stop_at.value_or(o.steps),
             .seed = o.seed.value_or(1),
             .learning_rate = o.learning_rate};
  if (from != nullptr) {
    if (o.seed && *o.seed != from->seed)
      throw problem(fmt::format("the checkpoint has seed {}: leave --seed out", from->seed));
    s.seed = from->seed;
  }
  return s;
}

void resume(training& t, checkpoint const& from, settings const& s) {
  checkpoint::entry const& e = from.at(t.how().name);
  if (e.step > s.last)
    throw problem(
        fmt::format("{} in the checkpoint is at step {}, and this run ends at {}: "
                    "give more --steps, or a later --stop-at",
                    e.mode, e.step, s.last));
  if (!t.resume(e.step, e.state))
    throw problem(
        fmt::format("{} in the checkpoint does not fit the model: "
                    "give the checkpoint of such a model to --resume",
                    e.mode));
}

// Each run is one thread's own from start to end, so results do not depend on how many there are.
void train(trainings const& runs, unsigned threads, display& shown) {
  std::atomic<std::size_t> next = 0;
  auto const work = [&] {
    try {
      for (std::size_t i = next++; i < runs.size() && !stop; i = next++)
        runs[i]->run(stop, [&](std::uint64_t step, std::vector<measurement> const& measured) {
          shown.show(i, step, measured);
        });
    } catch (...) {
      stop = true;
      throw;
    }
  };
  std::vector<std::future<void>> workers;
  for (unsigned i = 0; i < threads; ++i) workers.push_back(std::async(std::launch::async, work));
  for (std::future<void>& w : workers) w.get();
  shown.finish();
}

std::string bytes_of(trainings const& runs, std::string const& vocabulary, std::uint64_t seed) {
  checkpoint c{seed, vocabulary, {}};
  for (auto const& t : runs)
    c.entries.push_back({std::string(t->how().name), t->completed(), t->state().save()});
  return to_bytes(c);
}

picture picture_of(trainings const& runs, settings const& s) {
  picture p{"Loss of one model, by how its weights are stored",
            "step",
            "nats per byte",
            {"on text that it was trained on", "on held-out text"},
            static_cast<double>(s.last),
            {}};
  for (auto const& t : runs) {
    mode const& m = t->how();
    curve c{std::string(m.name), std::string(m.colour), m.is_stochastic, m.format == "float", {}};
    for (measurement const& at : t->measurements()) {
      c.panels[0].push_back({static_cast<double>(at.step), at.training_loss});
      c.panels[1].push_back({static_cast<double>(at.step), at.held_out_loss});
    }
    p.curves.push_back(std::move(c));
  }
  return p;
}

void draw(picture const& p, std::string const& path) {
  std::string svg = draw_with_gnuplot(p);
  bool const has_gnuplot = !svg.empty();
  if (!has_gnuplot) svg = draw_plain(p);
  write_whole(path, svg, "--svg");
  fmt::print("curves: {}{}\n", std::filesystem::absolute(path).string(),
             has_gnuplot ? " (drawn by gnuplot)" : "");
}

int run(options const& o) {
  // Whatever can be refused is refused here, before the work.
  text const read(o.text);
  checkpoint from;
  bool const resumes = !o.resume.empty();
  if (resumes) {
    from = read_checkpoint(o.resume);
    if (from.vocabulary != read.vocabulary())
      throw problem(fmt::format("'{}' is of a text with other bytes than '{}': give that to --text",
                                o.resume, o.text));
  }
  checkpoint const* const start = resumes ? &from : nullptr;
  settings const s = settings_for(o, start);
  std::vector<mode const*> const modes = modes_for(o, start);
  trainings runs;
  for (mode const* m : modes) {
    runs.push_back(std::make_unique<training>(*m, read, s));
    if (resumes) resume(*runs.back(), from, s);
  }
  if (!o.csv.empty()) require_writable(o.csv, "--csv");
  if (!o.svg.empty()) require_writable(o.svg, "--svg");
  if (!o.checkpoint.empty()) require_writable(o.checkpoint, "--checkpoint");

  fmt::print("text {}: {} bytes, {} distinct; model: {} weights; seed {}\n\n", o.text, read.size(),
             read.vocabulary().size(), runs.front()->size(), s.seed);
  display shown(modes, s.steps);
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  auto const most_threads = static_cast<unsigned>(runs.size());
  unsigned const processors = std::max(1u, std::thread::hardware_concurrency());
  train(runs, std::min(most_threads, o.threads != 0 ? o.threads : processors), shown);

  if (!o.checkpoint.empty()) {
    write_whole(o.checkpoint, bytes_of(runs, read.vocabulary(), s.seed), "--checkpoint");
    fmt::print("\ncheckpoint: {}\n", std::filesystem::absolute(o.checkpoint).string());
  }
  if (stop) {
    fmt::print("{}", o.checkpoint.empty() ? "\nstopped; --checkpoint would have saved the run\n"
                                          : "stopped; --resume goes on from there\n");
    return interrupted;
  }
  fmt::print("\n{}\n", table_of(runs));
  if (!o.csv.empty()) {
    write_whole(o.csv, csv_of(runs), "--csv");
    fmt::print("numbers: {}\n", std::filesystem::absolute(o.csv).string());
  }
  if (!o.svg.empty()) draw(picture_of(runs, s), o.svg);
  if (std::fflush(stdout) != 0) throw problem("cannot write to the standard output");
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::optional<options> const o = parse(argc, argv);
    return o ? run(*o) : done;
  } catch (std::exception const& e) {
    std::fflush(stdout);
    fmt::print(stderr, "train: {}\n", e.what());
    return bad_input;
  }
}
