// SPDX-License-Identifier: Apache-2.0
// Homes of numbers between steps. Each class owns the vectors of one storage, and makes of them the
// view that `lowp::update` takes. It reads the model's numbers back as floats. Before each step,
// expect() tells a home with a scale for the tensor how large results may become.
#pragma once

#include <lowp/lowp.hpp>
#include <lowp/update.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace training {

template <class... Vectors>
std::size_t bytes_of(Vectors const&... vectors) {
  return (... + (vectors.size() * sizeof vectors[0]));
}

/// Float, or a narrow type as it is.
template <class T>
class plain {
 public:
  explicit plain(std::span<float const> initial) : values_(initial.size()) {
    lowp::cast(initial, values_);
  }

  std::span<T> view() { return values_; }
  void read(std::span<float> out) const { lowp::cast(values_, out); }
  float largest() const { return lowp::measure(values_).largest.value(); }
  std::size_t bytes() const { return bytes_of(values_); }

 private:
  std::vector<T> values_;
};

/// The model computes with `value`.
template <class P, class C>
class kahan {
 public:
  explicit kahan(std::span<float const> initial)
      : value_(initial.size()), compensation_(initial.size()) {
    lowp::cast(initial, value_);
    std::vector<float> rest(initial.size());
    lowp::cast(value_, rest);
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] = initial[i] - rest[i];
    lowp::cast(rest, compensation_);
  }

  auto view() { return lowp::kahan{value_, compensation_}; }
  void read(std::span<float> out) const { lowp::cast(value_, out); }
  std::size_t bytes() const { return bytes_of(value_, compensation_); }

 private:
  std::vector<P> value_;
  std::vector<C> compensation_;
};

/// The model computes with `copy`.
template <class W, class C>
class master {
 public:
  explicit master(std::span<float const> initial)
      : weights_(initial.size()), copy_(initial.size()) {
    lowp::cast(initial, weights_);
    lowp::cast(initial, copy_);
  }

  auto view() { return lowp::master{weights_, copy_}; }
  void read(std::span<float> out) const { lowp::cast(copy_, out); }
  std::size_t bytes() const { return bytes_of(weights_, copy_); }

 private:
  std::vector<W> weights_;
  std::vector<C> copy_;
};

/// The model computes with `high`.
template <class H, class L>
class split_master {
 public:
  explicit split_master(std::span<float const> initial)
      : high_(initial.size()), low_(initial.size()) {
    lowp::split(initial, high_, low_);
  }

  auto view() { return lowp::split_master{high_, low_}; }
  void read(std::span<float> out) const { lowp::cast(high_, out); }
  std::size_t bytes() const { return bytes_of(high_, low_); }

 private:
  std::vector<H> high_;
  std::vector<L> low_;
};

/// A single scale for the tensor, which moves: examples/scaled_weights.cpp explains it.
template <class T>
class scaled {
 public:
  explicit scaled(std::span<float const> initial)
      : codes_(initial.size()),
        scale_(lowp::power_of_two_scale<T>(lowp::measure(initial).largest)) {
    next_ = scale_;
    lowp::scaled_cast(initial, codes_, scale_);
  }

  void expect(float largest) { next_ = lowp::power_of_two_scale<T>(largest); }
  auto view() { return lowp::scaled{std::span(codes_), std::exchange(scale_, next_), next_}; }
  void read(std::span<float> out) const {
    lowp::cast(codes_, out);
    for (float& x : out) x /= scale_;
  }
  float largest() const { return lowp::measure(codes_).largest.value() / scale_; }
  std::size_t bytes() const { return bytes_of(codes_) + sizeof scale_; }

 private:
  std::vector<T> codes_;
  float scale_, next_;
};

/// The 8 bits of bitsandbytes. All are zero at first.
template <bool IsSigned>
class dynamic_blocks {
  using blocks = lowp::dynamic_blocks<IsSigned>;

 public:
  explicit dynamic_blocks(std::span<float const> initial)
      : codes_(initial.size(), blocks::zero), absmax_(blocks::blocks(initial.size())) {}

  auto view() { return blocks{codes_, absmax_}; }
  void read(std::span<float> out) const {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = typename blocks::block_rule{}.decode_code(std::uint32_t{codes_[i]},
                                                         absmax_[i / blocks::elements_per_scale]);
  }
  std::size_t bytes() const { return bytes_of(codes_, absmax_); }

 private:
  std::vector<std::uint8_t> codes_;
  std::vector<float> absmax_;
};

/// A scale for every Block elements. All are zero at first.
template <class T, int Block>
class block_scaled {
 public:
  explicit block_scaled(std::span<float const> initial)
      : codes_(initial.size()),
        scales_(lowp::block_scaled<T, Block>::blocks(initial.size()), lowp::float8_e8m0fnu(1.0f)) {}

  auto view() { return lowp::blocks_of<Block>(codes_, scales_); }
  void read(std::span<float> out) const {
    lowp::cast(codes_, out);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] *= float(scales_[i / Block]);
  }
  std::size_t bytes() const { return bytes_of(codes_, scales_); }

 private:
  std::vector<T> codes_;
  std::vector<lowp::float8_e8m0fnu> scales_;
};

}  // namespace training
