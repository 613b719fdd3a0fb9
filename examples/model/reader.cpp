// SPDX-License-Identifier: Apache-2.0
#include "reader.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <lowp/cast.hpp>
#include <lowp/scaled_cast.hpp>
#include <stdexcept>

#include "odd.hpp"

namespace {

namespace st = lowp::safetensors;

template <class T>
void widen(std::span<std::byte const> bytes, std::span<float> out) {
  lowp::cast(std::span(reinterpret_cast<T const*>(bytes.data()), out.size()), out);
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
    default:
      throw std::logic_error("a type without a decoder");
  }
}

}  // namespace

reader::reader(model const& from, model::entry const& of, float factor)
    : from_(from),
      of_(of),
      factor_(factor),
      is_double_(of.type() == st::dtype::f64),
      element_bytes_(bits_of(of.type()) / 8),
      count_(of.count()) {
  auto const room = static_cast<std::size_t>(std::min<std::uint64_t>(count_, most));
  bytes_.resize(room * element_bytes_);
  floats_.resize(room);
  if (is_double_) doubles_.resize(room);
}

bool reader::next() {
  first_ += size_;
  size_ = static_cast<std::size_t>(std::min<std::uint64_t>(count_ - first_, most));
  if (size_ == 0) return false;
  from_.read(of_, first_ * element_bytes_, std::span(bytes_).first(size_ * element_bytes_));
  decode();
  return true;
}

void reader::decode() {
  auto const bytes = std::span(bytes_).first(size_ * element_bytes_);
  if (is_double_) {
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
