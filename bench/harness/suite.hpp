// SPDX-License-Identifier: Apache-2.0
// The cases of one operation, each with the traffic loops that it is held against.
#pragma once

#include "data.hpp"
#include "roofline.hpp"
#include "team.hpp"

#include <benchmark/benchmark.h>
#include <unistd.h>
#include <lowp/lowp.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// The level of memory that holds the streams of a case: as many elements as fit, in a power of
/// two for each thread that has its own.
struct level {
  char const* name;
  std::size_t elements, bytes;  // at most
  bool is_shared = false;

  std::size_t count(std::size_t bytes_per_element) const {
    std::size_t n = elements;
    while (n * bytes_per_element > bytes) n /= 2;
    return is_shared ? n : n * threads();
  }
};

// Three quarters of the smallest caches of current server processors. To try the programs, less
// memory is enough.
#if defined(LOWP_BENCH_QUICK)
inline constexpr std::size_t in_memory = 1 << 20;
#else
inline constexpr std::size_t in_memory = 64 << 20;
#endif
inline constexpr level levels[] = {
    {"L1", 4 << 10, 24 << 10}, {"L2", 128 << 10, 768 << 10}, {"DRAM", in_memory, 1 << 30, true}};

struct entry {
  std::string name;  // without the operation and the level
  level where;
  std::size_t count, moved;  // elements, and bytes for each
  std::string traffic;
  bool is_traffic_loop;
  std::size_t elements;  // in each of count
  std::function<void(benchmark::State&, std::size_t)> run;

  std::string full_name(std::string const& operation) const {
    return operation + "/" + name + "/" + where.name;
  }
  bool is_bounded_by(entry const& other) const {
    return other.is_traffic_loop && other.traffic == traffic && other.count == count;
  }
};

class suite {
 public:
  explicit suite(std::string operation) : operation_(std::move(operation)) {}

  std::string const& operation() const { return operation_; }
  std::vector<entry> const& entries() const { return entries_; }

  /// A case of this library, at every level that has room for `least` elements. `run` takes the
  /// state and a number of elements.
  template <class Traffic, class Run>
  void add(std::string const& name, Run run, std::size_t least = 1) {
    add_peer<Traffic>(name + "/" + std::string(lowp::isa()), run, least);
  }

  /// Somebody else's loop that does the same.
  template <class Traffic, class Run>
  void add_peer(std::string const& name, Run run, std::size_t least = 1) {
    for (level const& where : levels)
      if (where.count(Traffic::footprint) >= least) add_entry<Traffic>(name, where, false, run);
    if (!has_loops_for(Traffic::name())) {
      add_loop<Traffic, method::plain>();
      add_loop<Traffic, method::streaming>();
      add_loop<Traffic, method::prefetching>();
    }
  }

  /// Keeps what the filter matches and the traffic loops that go with it. As in Google Benchmark, a
  /// leading '-' inverts it.
  void keep(std::string filter) {
    bool const inverted = !filter.empty() && filter[0] == '-';
    if (inverted) filter.erase(0, 1);
    if (filter.empty() || filter == "all") filter.assign(1, '.');
    std::regex const pattern(filter, std::regex::extended);
    auto const matches = [&](entry const& e) {
      return std::regex_search(e.full_name(operation_), pattern) != inverted;
    };
    std::vector<entry> kept;
    for (entry const& e : entries_) {
      bool wanted = matches(e);
      for (entry const& other : entries_)
        wanted = wanted || (other.is_bounded_by(e) && matches(other));
      if (wanted) kept.push_back(e);
    }
    entries_ = std::move(kept);
  }

  void register_all() const {
    for (entry const& e : entries_) {
      std::string const name = e.full_name(operation_);
      benchmark::RegisterBenchmark(name.c_str(), [e, name](benchmark::State& state) {
        if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r\033[K%s\r", name.c_str());
        e.run(state, e.count);
        auto const units = state.iterations() * static_cast<std::int64_t>(e.count);
        state.SetItemsProcessed(units * static_cast<std::int64_t>(e.elements));
        state.SetBytesProcessed(units * static_cast<std::int64_t>(e.moved));
        state.SetLabel(e.traffic);
      });
    }
  }

 private:
  template <class Traffic, class Run>
  void add_entry(std::string const& name, level const& where, bool is_loop, Run const& run) {
    entries_.push_back({name, where, where.count(Traffic::footprint), Traffic::moved,
                        Traffic::name(), is_loop, Traffic::elements, run});
  }

  template <class Traffic, method Method>
  void add_loop() {
    auto const loop = [](benchmark::State& state, std::size_t n) {
      data memory;
      std::array<std::byte*, Traffic::streams> at;
      for (std::size_t i = 0; i < at.size(); ++i)
        at[i] = std::as_writable_bytes(memory.random<float>(n * Traffic::widths[i] / 4)).data();
      registers const width = widest();
      for (auto _ : state) {
        divide(n, 64, [&](std::size_t first, std::size_t count) {
          auto part = at;
          for (std::size_t i = 0; i < part.size(); ++i) part[i] += first * Traffic::widths[i];
          Traffic::template move<Method>(width, part, count);
        });
        benchmark::ClobberMemory();
      }
    };
    for (level const& where : levels)
      add_entry<Traffic>("traffic/" + Traffic::name() + "/" + name_of(Method), where, true, loop);
  }

  bool has_loops_for(std::string const& traffic) const {
    for (entry const& e : entries_)
      if (e.is_traffic_loop && e.traffic == traffic) return true;
    return false;
  }

  std::string operation_;
  std::vector<entry> entries_;
};

}  // namespace bench
