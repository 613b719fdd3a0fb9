// SPDX-License-Identifier: Apache-2.0
#include "files/reader.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <lowp/cast.hpp>
#include <stdexcept>

#include "targets/odd.hpp"

namespace {

namespace st = lowp::safetensors;

template <class T>
void widen(std::span<std::byte const> bytes, std::span<float> out) {
  lowp::cast(std::span(reinterpret_cast<T const*>(bytes.data()), out.size()), out);
}

template <class T>
void widen_packed(std::span<std::byte const> bytes, std::span<float> out) {
  lowp::cast(lowp::packed<T const>(bytes, out.size()), out);
}

void decode_floats(st::dtype type, std::span<std::byte const> bytes, std::span<float> out) {
  switch (type) {
    case st::dtype::f32:
      std::memcpy(out.data(), bytes.data(), bytes.size());
      return;
    case st::dtype::f16:
      return widen<lowp::float16>(bytes, out);
    case st::dtype::bf16:
      return widen<lowp::bfloat16>(bytes, out);
    case st::dtype::f8_e4m3:
      return widen<lowp::float8_e4m3fn>(bytes, out);
    case st::dtype::f8_e5m2:
      return widen<lowp::float8_e5m2>(bytes, out);
    case st::dtype::f8_e4m3fnuz:
      return widen<lowp::float8_e4m3fnuz>(bytes, out);
    case st::dtype::f8_e5m2fnuz:
      return widen<lowp::float8_e5m2fnuz>(bytes, out);
    case st::dtype::f8_e8m0:
      return widen<lowp::float8_e8m0fnu>(bytes, out);
    case st::dtype::f4_e2m1:
      return widen_packed<lowp::float4_e2m1fn>(bytes, out);
    case st::dtype::f6_e2m3:
      return widen_packed<lowp::float6_e2m3fn>(bytes, out);
    case st::dtype::f6_e3m2:
      return widen_packed<lowp::float6_e3m2fn>(bytes, out);
    default:
      throw std::logic_error("a type without a decoder");
  }
}

}  // namespace

reader::reader(model const& from, model::entry const& of, float factor)
    : from_(from),
      of_(of),
      factor_(factor),
      is_double_(of.type() == st::dtype::f64 || of.blocks != nullptr || of.scale != 1 ||
                 factor != 1),
      bits_(bits_of(of.type())),
      count_(of.count()) {
  auto const room = static_cast<std::size_t>(std::min<std::uint64_t>(count_, most));
  bytes_.resize(room * bits_ / 8);
  floats_.resize(room);
  if (is_double_) doubles_.resize(room);
}

bool reader::next() {
  first_ += size_;
  size_ = static_cast<std::size_t>(std::min<std::uint64_t>(count_ - first_, most));
  if (size_ == 0) return false;
  // A piece has whole bytes: `most` elements do, and so do all of a tensor.
  from_.read(of_, first_ / 8 * bits_, std::span(bytes_).first(static_cast<std::size_t>(bytes())));
  decode();
  return true;
}

float reader::factor_at(std::uint64_t element) const {
  auto const& factors = of_.blocks->factors;
  return factors[static_cast<std::size_t>(element / (count_ / factors.size()))];
}

std::uint64_t reader::block_at(std::uint64_t element) const {
  block_scales const& blocks = *of_.blocks;
  if (blocks.rows == 1) return element / blocks.size;
  auto const& shape = blocks.whole.shape;
  std::uint64_t const columns = shape.back(), rows = shape[shape.size() - 2];
  std::uint64_t const row = element / columns;
  std::uint64_t const row_of_blocks =
      row / rows * blocks_along(rows, blocks.rows) + row % rows / blocks.rows;
  return row_of_blocks * blocks_along(columns, blocks.size) + element % columns / blocks.size;
}

void reader::decode_blocks() {
  block_scales const& blocks = *of_.blocks;
  // A row of blocks has the scales of several rows, so it is read whole.
  std::uint64_t const across =
      blocks.rows == 1 ? 1 : blocks_along(blocks.whole.shape.back(), blocks.size);
  first_block_ = block_at(first_) / across * across;
  std::uint64_t const last = block_at(first_ + size_ - 1);
  std::vector<std::byte> codes(blocks_along(last + 1, across) * across - first_block_);
  from_.read(blocks.scales, first_block_, codes);
  scales_.resize(codes.size());
  decode_floats(blocks.is_of_e4m3() ? st::dtype::f8_e4m3 : st::dtype::f8_e8m0, codes, scales_);
  bool const divides = blocks.convention == global_scale::divides;
  for (std::size_t i = 0; i < size_;) {
    std::uint64_t const element = first_ + i, column = element % blocks.whole.shape.back();
    std::uint64_t const in_row =
        std::min(blocks.size - column % blocks.size, blocks.whole.shape.back() - column);
    auto const end = static_cast<std::size_t>(std::min<std::uint64_t>(i + in_row, size_));
    auto const factor = static_cast<double>(factor_at(element));
    auto const scale = static_cast<double>(scales_[block_at(element) - first_block_]);
    for (; i < end; ++i) {
      double const value = static_cast<double>(floats_[i]) * scale;
      doubles_[i] = divides ? value / factor : value * factor;
    }
  }
}

double reader::unit_at(std::size_t i) const {
  if (of_.blocks == nullptr) return 1 / static_cast<double>(of_.scale);
  constexpr auto smallest = std::numeric_limits<lowp::float8_e4m3fn>::denorm_min();
  float const scale = scales_[block_at(first_ + i) - first_block_], factor = factor_at(first_ + i);
  double const unit = static_cast<double>(scale != 0 ? scale : static_cast<float>(smallest));
  if (of_.blocks->convention == global_scale::divides) return unit / static_cast<double>(factor);
  return unit *
         static_cast<double>(factor != 0 ? factor : std::numeric_limits<float>::denorm_min());
}

void reader::decode() {
  auto const bytes = std::span(bytes_).first(static_cast<std::size_t>(this->bytes()));
  if (of_.type() == st::dtype::f64) {
    std::memcpy(doubles_.data(), bytes.data(), bytes.size());
  } else {
    auto const floats = std::span(floats_).first(size_);
    decode_floats(of_.type(), bytes, floats);
    if (!is_double_) return;
    if (of_.blocks != nullptr)
      decode_blocks();
    else
      std::copy(floats.begin(), floats.end(), doubles_.begin());
  }
  double const factor = static_cast<double>(factor_) / static_cast<double>(of_.scale);
  if (factor == 1) return;
  for (double& x : std::span(doubles_).first(size_)) {
    double const scaled = x * factor;
    // Not zero, or a value that a scale has flushed would count as none.
    x = scaled == 0 && x != 0 ? std::copysign(std::numeric_limits<double>::denorm_min(), x)
                              : scaled;
  }
}

std::span<float const> reader::floats() {
  auto const out = std::span(floats_).first(size_);
  if (is_double_)
    std::transform(doubles_.begin(), doubles_.begin() + static_cast<std::ptrdiff_t>(size_),
                   out.begin(), rounded_to_odd);
  return out;
}
