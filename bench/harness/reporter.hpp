// SPDX-License-Identifier: Apache-2.0
// Prints one table per operation, after the run.
#pragma once

#include "suite.hpp"

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace bench {

class table : public benchmark::BenchmarkReporter {
 public:
  explicit table(suite const& cases) : cases_(cases) {}

  bool ReportContext(Context const& context) override {
    PrintBasicContext(&GetErrorStream(), context);
    return true;
  }

  // Repetitions of all cases are interleaved, so cases come in any order.
  void ReportRuns(std::vector<Run> const& runs) override {
    for (Run const& run : runs) {
      std::string const name = run.run_name.str();
      auto const speed = run.counters.find("items_per_second");
      if (run.error_occurred) {
        GetErrorStream() << name << ": " << run.error_message << '\n';
        has_failed_ = true;
      } else if (speed == run.counters.end())
        continue;
      else if (run.run_type == Run::RT_Iteration)
        speeds_[name].push_back(speed->second);
      else if (run.aggregate_name == "median")
        speeds_[name] = {speed->second};  // when asked for aggregates only, it is all there is
      repetitions_ = std::max(repetitions_, run.repetitions);
    }
  }

  bool has_failed() const { return has_failed_; }

  void Finalize() override {
    if (isatty(STDERR_FILENO)) GetErrorStream() << "\033[K" << std::flush;  // the case in progress
    for (entry const& e : cases_.entries())
      width_ = std::max(width_, static_cast<int>(e.name.size()));
    print("\n%s: median of %d; share: of the best traffic loop that moves the same bytes\n\n",
          cases_.operation().c_str(), static_cast<int>(repetitions_));
    print("%-*s  %-10s  %11s  %7s  %6s\n", width_, "case", "size", "elements/ns", "GB/s", "share");
    for (entry const& e : cases_.entries())
      if (is_first_loop(e)) row(*best_loop(e));
    for (entry const& e : cases_.entries())
      if (!e.is_traffic_loop) row(e);
  }

 private:
  /// Elements per nanosecond; 0 if nothing was measured.
  double speed(entry const& e) const {
    auto const found = speeds_.find(e.full_name(cases_.operation()));
    if (found == speeds_.end()) return 0;
    std::vector<double> sorted = found->second;
    std::sort(sorted.begin(), sorted.end());
    return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2 * 1e-9;
  }

  entry const* best_loop(entry const& of) const {
    entry const* best = nullptr;
    for (entry const& e : cases_.entries())
      if (of.is_bounded_by(e) && (best == nullptr || speed(e) > speed(*best))) best = &e;
    return best;
  }

  bool is_first_loop(entry const& e) const {
    auto const bounds_e = [&](entry const& other) { return e.is_bounded_by(other); };
    auto const& all = cases_.entries();
    return e.is_traffic_loop && &*std::find_if(all.begin(), all.end(), bounds_e) == &e;
  }

  void row(entry const& e) {
    double const elements = speed(e);
    if (elements == 0) return;
    bool const is_large = e.count >= 1 << 20;
    // For a literal + a string, g++ 12 warns at -O3 without a reason.
    std::string size(e.where.name);
    size.append(1, ' ').append(std::to_string(e.count >> (is_large ? 20 : 10)));
    size += is_large ? "Mi" : "Ki";
    print("%-*s  %-10s  %11.3f  %7.2f", width_, e.name.c_str(), size.c_str(), elements,
          elements * static_cast<double>(e.moved));
    entry const* const bound = best_loop(e);
    if (bound != nullptr && speed(*bound) > 0)
      print("  %6.3f\n", elements / speed(*bound));
    else
      print("  %6s\n", "-");
  }

  template <class... Value>
  void print(char const* format, Value... value) {
    std::string line(256, '\0');
    int const length = std::snprintf(line.data(), line.size(), format, value...);
    line.resize(static_cast<std::size_t>(std::max(length, 0)));
    GetOutputStream() << line << std::flush;
  }

  suite const& cases_;
  std::map<std::string, std::vector<double>> speeds_;
  std::int64_t repetitions_ = 1;
  int width_ = 0;
  bool has_failed_ = false;
};

}  // namespace bench
