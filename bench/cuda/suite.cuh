// SPDX-License-Identifier: Apache-2.0
// Checks and times cases one after another, and writes what it found as JSON:
//
//     PROGRAM OUT.json COMMIT DATE
#pragma once

#include "copy.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace bench {

inline std::string quoted(std::string const& text) {
  std::string result = "\"";
  for (char const c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return result + '"';
}

/// The question of a row.
struct subject {
  std::string name;
  std::size_t elements, bytes, sets;
  std::vector<std::size_t> tensors = {};
};

class suite {
 public:
  suite(std::string commit, std::string date) : commit_(std::move(commit)), date_(std::move(date)) {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~suite() { cudaStreamDestroy(stream_); }
  suite(suite const&) = delete;
  suite& operator=(suite const&) = delete;

  /// body() fills operands, checks, and returns what time() did. A case that fails has no figure.
  template <class Body>
  void measure(subject const& what, Body const& body) {
    std::ostringstream row;
    row.precision(9);
    row << "{\"name\": " << quoted(what.name) << ", \"elements\": " << what.elements;
    try {
      copy_times const first = time_copies(stream_, device_, what.bytes);
      device_.give_back();
      sets_ = what.sets;
      seed_ = 0;
      quantiles const time = body();
      copy_ceiling const copy(first, time_copies(stream_, device_, what.bytes));
      std::size_t const launches = launches_of(what.sets);
      row << ", \"bytes\": " << what.bytes << ", \"sets\": " << what.sets
          << ", \"launches\": " << launches << ", \"replays\": " << replays
          << ", \"median\": " << time.median << ", \"p10\": " << time.p10
          << ", \"p90\": " << time.p90
          << ", \"gigabytes_per_second\": " << static_cast<double>(what.bytes) / time.median * 1e-9
          << ", \"share\": " << copy.seconds() / time.median
          << ", \"copy\": {\"way\": " << quoted(copy.way) << ", \"before\": " << copy.before
          << ", \"after\": " << copy.after << '}';
      if (!what.tensors.empty()) {
        row << ", \"tensors\": [";
        for (std::size_t i = 0; i < what.tensors.size(); ++i)
          row << (i == 0 ? "" : ", ") << what.tensors[i];
        row << ']';
      }
      std::printf("%-66s %10zu  %9.2f us  %7.1f GB/s  %.3f of copy\n", what.name.c_str(),
                  what.elements, time.median * 1e6,
                  static_cast<double>(what.bytes) / time.median * 1e-9,
                  copy.seconds() / time.median);
    } catch (std::exception const& e) {
      has_failed_ = true;
      row << ", \"not_available\": " << quoted(e.what());
      std::printf("%-66s %10zu  %s\n", what.name.c_str(), what.elements, e.what());
    }
    std::fflush(stdout);
    rows_.push_back(row.str() + "}");
  }

  template <class T>
  rotation<T> output(std::size_t count) {
    std::span<T> const all = device_.take<T>(count * sets_);
    must(cudaMemsetAsync(all.data(), 0xA5, all.size_bytes(), stream_));
    return {all.data(), count, sets_};
  }
  template <class T, class Shape>
  rotation<T> random(std::size_t count, Shape shape) {
    rotation<T> const result{device_.take<T>(count * sets_).data(), count, sets_};
    fill(stream_, result, ++seed_, shape);
    return result;
  }
  /// An object of zero bytes in device memory.
  template <class T>
  T* zero() {
    T* const result = device_.take<T>(1).data();
    must(cudaMemsetAsync(result, 0, sizeof(T), stream_));
    return result;
  }
  template <class T>
  T value_of(T const* at) {
    T result;
    must(cudaMemcpyAsync(&result, at, sizeof(T), cudaMemcpyDeviceToHost, stream_));
    must(cudaStreamSynchronize(stream_));
    return result;
  }

  /// Launches once. Then host(first, operands...), given the operands as they were from an element
  /// on, must turn them into the device's bits. Small operands may have other sizes.
  template <class Launch, class Host, class... T>
  void check(Launch const& launch, Host const& host, rotation<T> const&... operands) {
    launch(stream_, 0);
    must(cudaGetLastError());
    std::size_t const count = std::max({operands.count...});
    for (std::size_t first = 0; first < count; first += chunk)
      check_part(host, first, std::min(chunk, count - first), operands...);
  }

  /// The same for an operation that writes no operand: host(span) reads all elements in turn.
  template <class Launch, class Host, class T>
  void check_reading(Launch const& launch, Host const& host, rotation<T> const& operand) {
    launch(stream_, 0);
    must(cudaGetLastError());
    for (std::size_t first = 0; first < operand.count; first += chunk) {
      host_.give_back();
      std::span<T> const part =
          download(operand[1].data() + first, std::min(chunk, operand.count - first));
      must(cudaStreamSynchronize(stream_));
      host(part);
    }
  }

  template <class Launch>
  quantiles time(Launch const& launch) {
    return time_launches(stream_, sets_, launch);
  }

  void write(std::string const& path) const {
    cudaDeviceProp device{};
    int number = 0, driver = 0, runtime = 0;
    must(cudaGetDevice(&number));
    must(cudaGetDeviceProperties(&device, number));
    must(cudaDriverGetVersion(&driver));
    must(cudaRuntimeGetVersion(&runtime));
    std::ofstream to(path);
    to << "{\"context\": {\"device\": " << quoted(device.name)
       << ", \"rehearsal\": " << (is_rehearsal ? "true" : "false")
       << ", \"quick\": " << (is_quick ? "true" : "false")
       << ", \"capability\": " << 10 * device.major + device.minor
       << ", \"multiprocessors\": " << device.multiProcessorCount
       << ", \"l2_bytes\": " << device.l2CacheSize
       << ", \"memory_bytes\": " << device.totalGlobalMem
       << ", \"cuda_of_driver\": " << quoted(version(driver))
       << ", \"cuda_runtime\": " << quoted(version(runtime)) << ", \"nvcc\": \""
       << __CUDACC_VER_MAJOR__ << '.' << __CUDACC_VER_MINOR__ << '.' << __CUDACC_VER_BUILD__
       << "\", \"commit\": " << quoted(commit_) << ", \"date\": " << quoted(date_)
       << "},\n \"rows\": [";
    for (std::size_t i = 0; i < rows_.size(); ++i) to << (i == 0 ? "\n  " : ",\n  ") << rows_[i];
    to << "]}\n";
    if (!to.flush()) throw std::runtime_error("cannot write " + path);
  }

  bool has_failed() const { return has_failed_; }

 private:
  static constexpr std::size_t chunk = std::size_t{1} << (is_rehearsal ? 20 : 25);

  // The greatest case: a copy of 30 bytes for each of 2^28 elements, twice.
  static constexpr std::size_t device_bytes =
      is_rehearsal ? std::size_t{64} << 20 : std::size_t{16} << 30;
  // A chunk of AdamW with float moments, and one operand of the device's.
  static constexpr std::size_t host_bytes = chunk * (2 + 2 + 4 + 4 + 4) + 4096;

  template <class T>
  std::span<T> download(T const* from, std::size_t count) {
    std::span<T> const to = host_.take<T>(count);
    must(cudaMemcpyAsync(to.data(), from, to.size_bytes(), cudaMemcpyDeviceToHost, stream_));
    return to;
  }

  template <class Host, class... T>
  void check_part(Host const& host, std::size_t first, std::size_t count,
                  rotation<T> const&... operands) {
    host_.give_back();
    std::tuple<std::span<T>...> const expected{
        download(operands[1].data() + first, std::min(count, operands.count))...};
    must(cudaStreamSynchronize(stream_));
    std::apply([&](auto const&... spans) { host(first, spans...); }, expected);
    std::span<std::byte> const found = host_.take<std::byte>(count * std::max({sizeof(T)...}));
    std::apply(
        [&](auto const&... spans) {
          // Otherwise the comparison would pass even if no kernel had run.
          if ((... && (differs_at(spans, operands[1].data() + first, found) == spans.size())))
            throw std::runtime_error("nothing is computed");
          int number = 0;
          (expect_same(number++, spans, operands[0].data() + first, first, found), ...);
        },
        expected);
  }

  /// The first element in which the device's bits are others, or their number.
  template <class T>
  std::size_t differs_at(std::span<T> expected, T const* from, std::span<std::byte> found) {
    std::size_t const bytes = expected.size_bytes();
    must(cudaMemcpyAsync(found.data(), from, bytes, cudaMemcpyDeviceToHost, stream_));
    must(cudaStreamSynchronize(stream_));
    auto const* const wanted = reinterpret_cast<std::byte const*>(expected.data());
    if (std::memcmp(found.data(), wanted, bytes) == 0) return expected.size();
    auto const at = std::mismatch(wanted, wanted + bytes, found.data()).first - wanted;
    return static_cast<std::size_t>(at) / sizeof(T);
  }

  template <class T>
  void expect_same(int operand, std::span<T> expected, T const* from, std::size_t first,
                   std::span<std::byte> found) {
    std::size_t const at = differs_at(expected, from, found);
    if (at != expected.size())
      throw std::runtime_error("operand " + std::to_string(operand) +
                               " differs from the host's at " + std::to_string(first + at));
  }

  static std::string version(int number) {
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
  }

  arena device_{memory::device, device_bytes};
  arena host_{memory::pinned, host_bytes};
  cudaStream_t stream_ = nullptr;
  std::size_t sets_ = 2;
  std::uint32_t seed_ = 0;
  std::string commit_, date_;
  std::vector<std::string> rows_;
  bool has_failed_ = false;
};

/// For main.
template <class Cases>
int run(int argc, char** argv, Cases const& cases) {
  if (argc != 4) {
    std::cerr << "usage: " << argv[0] << " OUT.json COMMIT DATE\n";
    return 2;
  }
  try {
    suite all(argv[2], argv[3]);
    cases(all);
    all.write(argv[1]);
    return all.has_failed() ? 1 : 0;
  } catch (std::exception const& e) {
    std::cerr << argv[0] << ": " << e.what() << '\n';
    return 1;
  }
}

// The part of a rounding's span that begins at an element.
template <class R>
R from_element(R rounding, std::size_t first) {
  if constexpr (R::is_stochastic)
    return rounding.after(first);
  else
    return rounding;
}

inline constexpr std::size_t many = std::size_t{1} << (is_rehearsal ? 14 : is_quick ? 26 : 28);

}  // namespace bench
