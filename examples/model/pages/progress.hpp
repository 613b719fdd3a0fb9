// SPDX-License-Identifier: Apache-2.0
// A bar on a terminal, nothing elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

class progress {
 public:
  progress(std::FILE* to, std::string label);
  progress(progress const&) = delete;
  progress& operator=(progress const&) = delete;
  /// Leaves an empty line behind.
  ~progress();

  /// Adds to the bytes that are to do.
  void expect(std::uint64_t bytes) { all_ += bytes; }
  /// Adds to the bytes that are done.
  /// @throws interruption  the user has asked for an end
  void add(std::uint64_t bytes);

 private:
  void draw();

  std::FILE* to_;
  std::string label_;
  bool is_live_, is_drawn_ = false;
  std::uint64_t done_ = 0, all_ = 0;
  std::chrono::steady_clock::time_point drawn_at_{};
};
