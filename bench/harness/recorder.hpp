// SPDX-License-Identifier: Apache-2.0
// Figures of a program that times by itself, written as Google Benchmark writes those that it
// times.
#pragma once

#include <benchmark/benchmark.h>

#include <fstream>
#include <stdexcept>
#include <string>

namespace bench {

class recorder {
 public:
  /// The file that --benchmark_out names; nothing is recorded if that is empty.
  explicit recorder(std::string const& path) {
    if (path.empty()) return;
    file_.open(path);
    if (!file_) throw std::runtime_error("--benchmark_out: cannot write " + path);
    json_.SetOutputStream(&file_);
    json_.ReportContext(benchmark::BenchmarkReporter::Context());
  }
  recorder(recorder const&) = delete;
  ~recorder() {
    if (file_.is_open()) json_.Finalize();
  }

  /// `seconds` for one item of the case.
  void add(std::string const& name, double seconds) {
    if (!file_.is_open()) return;
    benchmark::BenchmarkReporter::Run run;
    run.run_name.function_name = name;
    run.family_index = run.per_family_instance_index = count_++;
    run.repetition_index = 0;
    run.repetitions = 1;
    run.time_unit = benchmark::kNanosecond;
    run.real_accumulated_time = run.cpu_accumulated_time = seconds;
    run.counters["items_per_second"] = 1 / seconds;
    json_.ReportRuns({run});
  }

 private:
  std::ofstream file_;
  benchmark::JSONReporter json_;
  int count_ = 0;
};

}  // namespace bench
