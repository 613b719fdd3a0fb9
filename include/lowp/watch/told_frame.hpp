// SPDX-License-Identifier: Apache-2.0
// Frames of an overflow_watch, to which a program passes tensors.
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

/// Tensors that a frame has not read yet; it does if a later tensor is not sound. Valid while the
/// tensors live: within the expression that makes the frame.
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

/// A temporary frame. It may defer reading weights; a named frame, a watch_told_frame, may not.
template <class Watch>
class watch_telling {
 public:
  watch_telling(watch_telling const&) = delete;  // a deferred tensor could be gone
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
  /// Takes x; in a backward frame the gradient with respect to x.
  template <class T>
  watch_telling&& input(T&& values) && {
    see(watch_role::input, values, &postponed_);
    return std::move(*this);
  }
  /// Takes y; in a backward frame the gradient with respect to y.
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
  Watch* watch_;  ///< null if the step is not watched
  std::uint64_t number_;
  detail::watch_postponed postponed_;
};

/// A frame: the tensors of one run of a place. A tensor is a span, such as std::span(m.data(),
/// m.size()) of a matrix, or any struct of the folder storage. It may also be an abs_range from a
/// GPU or another machine.
///
/// The watch reads each tensor at once and does not keep it. But it reads a weight in the
/// expression that makes the frame according to policy.weights_every.
///
///     watch.forward(fc1).weight(w).input(x).output(y);      one expression
///     auto const frame = watch.forward(fc1);                a name, while tensors arrive
///     frame.weight(w).input(x);
///
/// Do not name the result of watch.forward(fc1).weight(w): it ends with its line.
///
/// @throws watch_error  at the first tensor with trouble in this step, if the policy throws; at
///                      each one if no step ever began
template <class Watch>
class watch_told_frame : public watch_telling<Watch> {
 public:
  using watch_telling<Watch>::weight, watch_telling<Watch>::input, watch_telling<Watch>::output;

  /// Overloads for a named frame, which read every tensor at once.
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
