// SPDX-License-Identifier: Apache-2.0
#include "selection.hpp"

#include <fmt/core.h>
#include <regex.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "files/problem.hpp"
#include "files/reader.hpp"

// POSIX's, because libstdc++'s std::regex recurses once for each character, and names come out of
// unknown files.
struct selection::pattern {
  explicit pattern(std::string const& text) {
    int const error = ::regcomp(&compiled, text.c_str(), REG_EXTENDED | REG_NOSUB);
    if (error == 0) return;
    char why[200] = {};
    ::regerror(error, &compiled, why, sizeof why);
    throw problem(fmt::format("--keep '{}' is no extended regular expression: {}", text, why));
  }
  ~pattern() { ::regfree(&compiled); }
  pattern(pattern const&) = delete;
  pattern& operator=(pattern const&) = delete;

  [[nodiscard]] bool is_in(std::string const& name) const {
    return ::regexec(&compiled, name.c_str(), 0, nullptr, 0) == 0;
  }

  regex_t compiled{};
};

selection::selection(plan const& what) : to_(*what.to) {
  for (std::string const& text : what.keep) keep_.push_back(std::make_unique<pattern>(text));
}
selection::~selection() = default;

bool selection::has(model::entry const& e) const {
  // A tensor that has the type keeps its bytes and scale: another rounding could only lose.
  if (to_.blocks == nullptr && e.blocks == nullptr && e.type() == to_.type) return false;
  if (to_.blocks != nullptr) {
    auto const& shape = e.tensor->shape;
    if (e.blocks != nullptr || e.count() == 0 || shape.empty() ||
        shape.back() % to_.blocks->size != 0)
      return false;
  }
  return facts_of(e.type()) != nullptr &&
         std::none_of(keep_.begin(), keep_.end(), [&](auto& p) { return p->is_in(e.name()); });
}

namespace {
void add_range(std::span<double const> in, tensor_census& to) {
  for (double const x : in) {
    if (x == 0 || !std::isfinite(x)) continue;
    to.min_abs = std::min(to.min_abs, std::fabs(x));
    to.max_abs = std::max(to.max_abs, std::fabs(x));
  }
}
}  // namespace

tensor_census& tensor_census::operator+=(tensor_census const& other) {
  counts += other.counts;
  min_abs = std::min(min_abs, other.min_abs);
  max_abs = std::max(max_abs, other.max_abs);
  blocks += other.blocks;
  return *this;
}

lowp::amax largest_of(lowp::range_census const& c) {
  return c.infinite != 0 ? lowp::amax{lowp::lanes::binary32_infinity} : c.max_abs;
}

namespace {

// Adds what quantizing the values made of them.
void add_errors(std::span<float const> in, std::span<float const> out, lowp::range_census& to) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!std::isfinite(in[i]) || !std::isfinite(out[i])) continue;
    if (in[i] != 0 && out[i] == 0) ++to.flushed;
    auto const x = static_cast<double>(in[i]);
    float const error = std::fabs(out[i] - in[i]);
    to.squared_error += static_cast<double>(error) * static_cast<double>(error);
    if (x == 0) continue;
    auto const relative = static_cast<float>(static_cast<double>(error) / std::fabs(x));
    to.max_relative_error += lowp::amax{lowp::lanes::magnitude(relative)};
  }
}

void quantize_all(model const& from, model::entry const& of, block_layout const& blocks,
                  tensor_census& sum, progress& bar) {
  lowp::range_census& counts = sum.counts;
  counts.overflow = counts.subnormal = counts.flushed = 0;
  counts.max_relative_error = {};
  counts.squared_error = {};
  lowp::amax const largest = largest_of(counts);
  std::vector<std::byte> codes, scales;
  std::vector<float> read;
  for (reader pieces(from, of); pieces.next(); bar.add(pieces.bytes())) {
    auto const floats = pieces.floats();
    codes.resize(floats.size() / 2);
    scales.resize(floats.size() / blocks.size);
    read.resize(floats.size());
    sum.blocks += blocks.quantize(floats, largest, pieces.first(), {}, codes, scales, read);
    add_errors(floats, read, counts);
  }
  counts.overflow = sum.blocks.clipped;
}

}  // namespace

tensor_census census_of(model const& from, model::entry const& of, target const& to, float factor,
                        progress& bar) {
  tensor_census sum;
  for (reader pieces(from, of, factor); pieces.next(); bar.add(pieces.bytes())) {
    tensor_census piece{to.census(pieces.floats())};
    if (pieces.is_double()) {
      add_range(pieces.doubles(), piece);
    } else {
      piece.min_abs = static_cast<double>(piece.counts.min_abs.value());
      piece.max_abs = static_cast<double>(piece.counts.max_abs.value());
    }
    sum += piece;
  }
  if (to.blocks != nullptr) {
    bar.expect(of.bytes());
    quantize_all(from, of, *to.blocks, sum, bar);
  }
  return sum;
}

bool may_gain(lowp::range_census const& c) {
  return c.overflow != 0 || c.flushed != 0 || c.subnormal != 0;
}
