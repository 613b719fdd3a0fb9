// SPDX-License-Identifier: Apache-2.0
// What a program tells an overflow_watch of a frame.
#pragma once

#include <lowp/measure/census/abs_range_report.hpp>
#include <lowp/watch/frames.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace lowp {

namespace detail {

inline namespace LOWP_UNIT {

/// Tensors that a frame did not read, in case something that it reads is not sound. Valid as long as
/// these are: within the expression that makes the frame.
class watch_postponed {
 public:
  struct tensor {
    std::size_t line;
    abs_range (*read)(void const*);
    void const* values;
  };

  [[nodiscard]] bool has_room() const { return count_ < most; }
  void add(tensor const& one) { all_[count_++] = one; }
  void clear() { count_ = 0; }
  [[nodiscard]] tensor const* begin() const { return all_; }
  [[nodiscard]] tensor const* end() const { return all_ + count_; }

 private:
  static constexpr std::size_t most = 8;
  std::size_t count_ = 0;
  tensor all_[most];
};

}  // namespace LOWP_UNIT

}  // namespace detail

inline namespace LOWP_UNIT {

/// What is told of a frame in the expression that makes it, and gone with that: what has a name is a
/// watch_told_frame.
template <class Watch>
class watch_telling {
 public:
  watch_telling(watch_telling const&) = delete;  // what was put off must not outlive its tensor
  watch_telling& operator=(watch_telling const&) = delete;

  template <class T>
  watch_telling&& weight(T&& values) && {
    return std::move(*this).weight("weight", values);
  }
  template <class T>
  watch_telling&& weight(std::string_view name, T&& values) && {
    see_weight(name, values, &postponed_);
    return std::move(*this);
  }
  /// Forward, x; backward, the gradient by x.
  template <class T>
  watch_telling&& input(T&& values) && {
    see(watch_role::input, values, &postponed_);
    return std::move(*this);
  }
  /// Forward, y; backward, the gradient by y.
  template <class T>
  watch_telling&& output(T&& values) && {
    see(watch_role::output, values, &postponed_);
    return std::move(*this);
  }

 protected:
  watch_telling(Watch* watch, std::uint64_t number) : watch_(watch), number_(number) {}

  template <class T>
  void see(watch_role role, T& values, detail::watch_postponed* postponed) const {
    if (watch_ != nullptr) watch_->see(number_, role, values, postponed);
  }
  template <class T>
  void see_weight(std::string_view name, T& values, detail::watch_postponed* postponed) const {
    if (watch_ != nullptr) watch_->see_weight(number_, name, values, postponed);
  }

 private:
  Watch* watch_;  ///< null where the step is not watched
  std::uint64_t number_;
  detail::watch_postponed postponed_;
};

/// What a place did once. Tensors are spans and the like, of matrices std::span(m.data(), m.size()), or
/// any struct of the folder storage; or an abs_range, as a GPU or another machine has found it.
///
/// Each is looked at when it is told of, and not kept; but a weight told of in the expression that makes
/// the frame is read according to policy.weights_every.
///
///     watch.forward(fc1).weight(w).input(x).output(y);      one expression
///     auto const frame = watch.forward(fc1);                a name, for as long as tensors come: without
///     frame.weight(w).input(x);                             .weight(w), whose result ends with its line
///
/// @throws watch_error  at the first tensor with trouble in this step, where the policy is to throw; where
///                      no step was ever begun, at each
template <class Watch>
class watch_told_frame : public watch_telling<Watch> {
 public:
  using watch_telling<Watch>::weight, watch_telling<Watch>::input, watch_telling<Watch>::output;

  /// The same of a frame that has a name: all is read.
  template <class T>
  watch_told_frame const& weight(T&& values) const& {
    return weight("weight", values);
  }
  template <class T>
  watch_told_frame const& weight(std::string_view name, T&& values) const& {
    this->see_weight(name, values, nullptr);
    return *this;
  }
  template <class T>
  watch_told_frame const& input(T&& values) const& {
    this->see(watch_role::input, values, nullptr);
    return *this;
  }
  template <class T>
  watch_told_frame const& output(T&& values) const& {
    this->see(watch_role::output, values, nullptr);
    return *this;
  }

 private:
  friend Watch;
  watch_told_frame(Watch* watch, std::uint64_t number) : watch_telling<Watch>(watch, number) {}
};

}  // namespace LOWP_UNIT

}  // namespace lowp
