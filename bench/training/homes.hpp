// SPDX-License-Identifier: Apache-2.0
// Where numbers live between steps: each class owns the vectors of one storage, makes of them the
// view that `lowp::update` takes, and reads them back as floats.
#pragma once

#include <lowp/lowp.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace training {

/// Float, or a narrow type as it is.
template <class T>
class plain {
 public:
  explicit plain(std::span<float const> initial) : values_(initial.size()) {
    lowp::cast(initial, values_);
  }

  std::span<T> view() { return values_; }
  void read(std::span<float> out) const { lowp::cast(values_, out); }
  std::size_t bytes() const { return values_.size() * sizeof(T); }

 private:
  std::vector<T> values_;
};

}  // namespace training
