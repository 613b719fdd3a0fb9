// SPDX-License-Identifier: Apache-2.0
// The frame of every benchmark program. They take Google Benchmark's flags.
#pragma once

#include "peer.hpp"
#include "reporter.hpp"
#include "suite.hpp"

#include <benchmark/benchmark.h>
#include <lowp/lowp.hpp>

#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace bench {

/// The text after the last `flag=`, or `otherwise`.
inline std::string value_of(std::string const& flag, std::vector<std::string> const& arguments,
                            std::string otherwise) {
  for (std::string const& argument : arguments)
    if (argument.starts_with(flag + "=")) otherwise = argument.substr(flag.size() + 1);
  return otherwise;
}

/// "Intel(R) Xeon(R) Processor, family 6, model 85": in virtual machines the name alone says
/// little. On AArch64 "implementer 0x41, part 0xd4f".
inline std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::map<std::string, std::string> facts;
  for (std::string line; std::getline(file, line) && !line.empty();)
    facts[line.substr(0, line.find_first_of("\t:"))] = line.substr(line.find(':') + 1);
  if (facts.contains("CPU part"))
    return "implementer" + facts["CPU implementer"] + ", part" + facts["CPU part"];
  return facts["model name"] + ", family" + facts["cpu family"] + ", model" + facts["model"];
}

/// For the table's reader, in the JSON.
inline void note_build() {
  benchmark::AddCustomContext("lowp_isa", std::string(lowp::isa()));
  benchmark::AddCustomContext("cpu", processor());
  benchmark::AddCustomContext("threads", std::to_string(threads()));
#if defined(__clang__)
  benchmark::AddCustomContext("compiler", __VERSION__);
#else
  benchmark::AddCustomContext("compiler", "g++ " __VERSION__);
#endif
}

/// Runs the cases that `add_cases` puts into a suite, and prints their table.
template <class AddCases>
int run_suite(char const* operation, int argc, char** argv, AddCases add_cases) try {
  // Neighbours and clocks change within seconds. So programs are measured in turns, and a median
  // forgets the turns that somebody else disturbed.
  std::vector<std::string> arguments = {argv[0], "--benchmark_enable_random_interleaving=true",
                                        "--benchmark_min_time=0.05"};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  // Who asks for less than a hundredth of a second wants to see it run, and no figures.
  double const seconds = std::atof(value_of("--benchmark_min_time", arguments, "").c_str());
  arguments.insert(arguments.begin() + 1,
                   std::string("--benchmark_repetitions=") + (seconds < 0.01 ? "1" : "9"));

  std::vector<char*> flags;
  for (std::string& argument : arguments) flags.push_back(argument.data());
  int count = static_cast<int>(flags.size());
  flags.push_back(nullptr);
  benchmark::Initialize(&count, flags.data());
  if (benchmark::ReportUnrecognizedArguments(count, flags.data())) return 2;
  note_build();

  suite cases(operation);
  add_cases(cases);
  if (threads() == 1) peer::add_all(cases);
  cases.keep(benchmark::GetBenchmarkFilter());
  if (cases.entries().empty()) {
    std::cerr << operation << ": the filter matches no case\n";
    return 0;
  }
  cases.register_all();
  table own(cases);
  bool const has_format = !value_of("--benchmark_format", arguments, "").empty();
  benchmark::RunSpecifiedBenchmarks(has_format ? benchmark::CreateDefaultDisplayReporter() : &own,
                                    "all");
  benchmark::Shutdown();
  return own.has_failed() ? 1 : 0;
} catch (std::regex_error const& error) {
  std::cerr << argv[0] << ": --benchmark_filter: " << error.what() << '\n';
  return 2;
} catch (std::exception const& error) {
  std::cerr << argv[0] << ": " << error.what() << '\n';
  return 2;
}

}  // namespace bench
