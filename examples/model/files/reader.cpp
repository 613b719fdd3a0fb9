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
      is_double_(of.type() == st::dtype::f64 || of.blocks != nullptr),
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

void reader::decode_blocks(std::span<std::byte const> bytes) {
  block_scales const& blocks = *of_.blocks;
  auto const codes = std::span(floats_).first(size_);
  decode_floats(of_.type(), bytes, codes);
  auto const block = static_cast<std::size_t>(blocks.size);
  std::vector<std::byte> scale_codes(size_ / block);
  from_.read(blocks.scales, first_ / block, scale_codes);
  std::vector<float> scales(scale_codes.size());
  decode_floats(blocks.is_of_e4m3() ? st::dtype::f8_e4m3 : st::dtype::f8_e8m0, scale_codes, scales);
  scales_.assign(scales.begin(), scales.end());
  auto const factor = static_cast<double>(blocks.factor);
  bool const divides = blocks.convention == global_scale::divides;
  for (std::size_t i = 0; i < size_; ++i) {
    double const value = static_cast<double>(codes[i]) * scales_[i / block];
    doubles_[i] = divides ? value / factor : value * factor;
  }
  for (double& scale : scales_) scale = divides ? scale / factor : scale * factor;
}

double reader::unit_at(std::size_t i) const {
  if (of_.blocks == nullptr) return 1 / static_cast<double>(of_.scale);
  double const scale = scales_[i / static_cast<std::size_t>(of_.blocks->size)];
  if (scale != 0) return scale;
  auto const smallest = static_cast<double>(std::numeric_limits<lowp::float8_e4m3fn>::denorm_min());
  auto const factor = static_cast<double>(of_.blocks->factor);
  return of_.blocks->convention == global_scale::divides ? smallest / factor : smallest * factor;
}

void reader::decode() {
  auto const bytes = std::span(bytes_).first(static_cast<std::size_t>(this->bytes()));
  if (is_double_) {
    if (of_.blocks != nullptr)
      decode_blocks(bytes);
    else
      std::memcpy(doubles_.data(), bytes.data(), bytes.size());
    double const factor = static_cast<double>(factor_) / static_cast<double>(of_.scale);
    if (factor != 1)
      for (double& x : doubles_) {
        double const scaled = x * factor;
        // Not zero, or a value that a scale has flushed would count as none.
        x = scaled == 0 && x != 0 ? std::copysign(std::numeric_limits<double>::denorm_min(), x)
                                  : scaled;
      }
    return;
  }
  auto const out = std::span(floats_).first(size_);
  decode_floats(of_.type(), bytes, out);
  // Multiply one after the other: the product of both may be no float.
  for (float const factor : {1 / of_.scale, factor_})
    if (factor != 1) lowp::scaled_cast(out, out, factor);
}

std::span<float const> reader::floats() {
  auto const out = std::span(floats_).first(size_);
  if (is_double_)
    std::transform(doubles_.begin(), doubles_.begin() + static_cast<std::ptrdiff_t>(size_),
                   out.begin(), rounded_to_odd);
  return out;
}
