// SPDX-License-Identifier: Apache-2.0
// The latest frames of an overflow_watch. Their text is, line for line, that of
// DebugUnderflowOverflow of Hugging Face's transformers
// (src/transformers/debug_utils.py):
//
//     abs min  abs max  metadata
//                       encoder.block.2.layer.1.DenseReluDense.wo Linear
//     1.01e-06 6.44e+00 weight
//     0.00e+00 9.74e+03 input[0]
//     3.18e-04 6.27e+04 output
#pragma once

#include <lowp/base/text.hpp>
#include <lowp/measure/census/abs_range.hpp>

#include <optional>
#include <vector>

namespace lowp {

enum class watch_trouble { nan, infinite, overflow, stalled };
enum class watch_pass { forward, backward };
enum class watch_role { weight, input, output };

inline namespace LOWP_SHARED {

/// A place in a program's source: std::source_location, also for compilers that lack it.
struct source_place {
  char const* file = "";
  unsigned line = 0;

  /// Returns the place of the call, if used as a default argument.
  static constexpr source_place current(char const* file = __builtin_FILE(),
                                        unsigned line = __builtin_LINE()) {
    return {file, line};
  }

  constexpr source_place() = default;
  constexpr source_place(char const* file_name, unsigned line_number)
      : file(file_name), line(line_number) {}
  template <class Location>  // std::source_location
    requires requires(Location const& where) {
      where.file_name();
      where.line();
    }
  constexpr source_place(Location const& where)
      : file(where.file_name()), line(static_cast<unsigned>(where.line())) {}

  /// Returns the file name and the line, such as "model.cpp:31".
  [[nodiscard]] std::string text() const;
};

/// A layer, or any other named place.
struct watched_place {
  std::string name, type;
  source_place where;
  /// Numbers of tensors here with at least one NaN, infinity or overflowing value.
  std::uint64_t nan = 0, infinite = 0, overflow = 0;
  std::uint64_t stalled = 0;           ///< number of stall alarms
  std::vector<std::string> weights{};  ///< names of its weights
};

}  // namespace LOWP_SHARED

namespace detail::inline LOWP_SHARED {

struct watch_line {
  watch_role role;
  std::uint32_t number;  ///< index within its role; for a weight, index of its name
  abs_range range{};
  std::optional<std::uint64_t> as_of{};  ///< step of the reading, if not this frame's
  /// Reads `values`, while the frame is open; null once this frame has read the tensor.
  abs_range (*read)(void const* values) = nullptr;
  void const* values = nullptr;
};

struct watch_frame {
  std::uint64_t number = 0, step = 0;
  std::size_t place = 0;
  watch_pass pass = watch_pass::forward;
  bool is_open = false;  ///< true in the expression that makes the frame
  std::vector<watch_line> lines{};

  [[nodiscard]] std::uint32_t count(watch_role role) const;
};

/// Returns "3 of 8 infinite".
error_text watch_amount(std::uint64_t some, std::uint64_t all, char const* what);
/// Returns "1 of 8 NaN, 3 of 8 beyond 65504".
error_text watch_amounts(watch_frame const& frame, watch_line const& line, float largest);

/// The latest frames, in a ring of reused memory.
class watch_frames {
 public:
  explicit watch_frames(std::size_t most);

  /// Begins a frame in place of the oldest one. Returns its number; numbers start at 1.
  std::uint64_t begin(std::size_t place, watch_pass pass, std::uint64_t step);
  /// Returns null if a later frame has taken its memory.
  watch_frame* find(std::uint64_t number);
  [[nodiscard]] std::optional<std::uint64_t> step() const;

  /// Returns "input[0]"; "output", or "output[1]" if there are several. Gradients have the names
  /// that the backward hooks of torch.nn.Module use.
  static error_text label(watched_place const& place, watch_frame const& frame,
                          watch_line const& line);
  static error_text text_of(watched_place const& place, watch_frame const& frame);

  /// Returns the frames, the oldest first. Hugging Face's header of a step precedes its frames. The
  /// first of several steps may have lost frames, so a line with its number precedes it instead.
  /// @param most  of lines, but at least the last frame
  [[nodiscard]] error_text text(std::vector<watched_place> const& places,
                                std::size_t most = std::size_t(-1)) const;

 private:
  [[nodiscard]] std::size_t slot(std::uint64_t number) const;
  /// Returns the number of frames whose text has at most that many lines, at least one.
  [[nodiscard]] std::uint64_t count_in(std::size_t most, std::uint64_t all) const;

  std::vector<watch_frame> ring_;
  std::uint64_t next_ = 0;  ///< number of the last frame
};

/// A weight or its gradient, as a watch remembers it between frames.
struct watch_weight {
  abs_range range;
  std::uint64_t step = 0;
  std::uint64_t rest = 0;  ///< number of further frames that may show this reading
  bool is_known = false;
};

/// Returns true if a frame may show the last reading of a weight of `count` elements. Every frame
/// reads a weight from a 64th of the overflow of `To` on, so also after an unsound reading.
template <census_target To>
LOWP_HOST_FN bool may_rest(watch_weight const& weight, std::size_t count) {
  constexpr std::uint32_t margin = borders_of<To>.overflow - (6u << 23);
  return weight.rest != 0 && weight.range.count == count && weight.range.nan == 0 &&
         weight.range.max_abs.bits < margin;
}

#if defined(LOWP_BODIES)

LOWP_LIB std::uint32_t watch_frame::count(watch_role of_role) const {
  std::uint32_t found = 0;
  for (watch_line const& line : lines) found += line.role == of_role;
  return found;
}

/// Returns Python's format(x, "8.2e"), in any locale.
inline error_text watch_number(float x) {
  shortest_text const number(x, std::chars_format::scientific, 2);
  std::size_t const length = __builtin_strlen(number.text);
  return joined_text({&"        "[length < 8 ? length : 8], number.text});
}

/// Returns "1.01e-06 6.44e+00 ", with NaN or infinity if the range has any, as torch does.
inline error_text watch_numbers(abs_range const& range) {
  if (range.count == 0) return "            empty ";
  float const nan = lanes::from_bits<float>(lanes::binary32_nan);
  float const min = range.nan != 0 ? nan : range.min_abs.value();
  float const max = range.nan != 0 ? nan : range.max_abs.value();
  return joined_text({watch_number(min), " ", watch_number(max), " "});
}

LOWP_LIB error_text watch_amount(std::uint64_t some, std::uint64_t all, char const* what) {
  return joined_text({some, " of ", all, " ", what});
}
LOWP_LIB error_text watch_amounts(watch_frame const& frame, watch_line const& line, float largest) {
  abs_range const& range = line.range;
  error_text text;
  auto const add = [&](std::uint64_t some, char const* what) {
    if (some != 0)
      text = joined_text({text, text.empty() ? "" : ", ", watch_amount(some, range.count, what)});
  };
  add(range.nan, "NaN");
  add(range.infinite, "infinite");
  add(range.overflow, joined_text({"beyond ", shortest_text(largest).text}).c_str());
  // If a watched place had made it, the watch would have found that output first.
  bool const came_in =
      line.role == (frame.pass == watch_pass::forward ? watch_role::input : watch_role::output);
  return joined_text({text, came_in ? ", made by what is not watched" : ""});
}

inline constexpr char watch_header[] = "abs min  abs max  metadata\n";
inline constexpr char watch_indent[] = "                  ";

LOWP_LIB watch_frames::watch_frames(std::size_t most) : ring_(most) {
  for (watch_frame& each : ring_) each.lines.reserve(4);
}
LOWP_LIB std::uint64_t watch_frames::begin(std::size_t place, watch_pass pass, std::uint64_t step) {
  watch_frame& frame = ring_[slot(next_)];
  frame.lines.clear();
  frame = {++next_, step, place, pass, true, std::move(frame.lines)};
  return next_;
}
LOWP_LIB watch_frame* watch_frames::find(std::uint64_t number) {
  watch_frame& frame = ring_[slot(number - 1)];
  return frame.number == number ? &frame : nullptr;
}
LOWP_LIB std::optional<std::uint64_t> watch_frames::step() const {
  if (next_ == 0) return {};
  return ring_[slot(next_ - 1)].step;
}
LOWP_LIB error_text watch_frames::label(watched_place const& place, watch_frame const& frame,
                                        watch_line const& line) {
  bool const is_backward = frame.pass == watch_pass::backward;
  if (line.role == watch_role::weight)
    return joined_text({place.weights[line.number].c_str(), is_backward ? ".grad" : ""});
  bool const is_input = line.role == watch_role::input;
  error_text const name = joined_text({is_backward ? "grad_" : "", is_input ? "input" : "output"});
  if (is_input || is_backward || frame.count(watch_role::output) > 1)
    return joined_text({name, "[", line.number, "]"});
  return name;
}
LOWP_LIB error_text watch_frames::text_of(watched_place const& place, watch_frame const& frame) {
  error_text text = joined_text({watch_indent, place.name.c_str(), place.type.empty() ? "" : " ",
                                 place.type.c_str(),
                                 frame.pass == watch_pass::backward ? " (backward)\n" : "\n"});
  for (watch_line const& line : frame.lines)
    text = joined_text(
        {text, watch_numbers(line.range), label(place, frame, line),
         line.as_of ? joined_text({" (as of batch_number=", *line.as_of, ")\n"}) : "\n"});
  return text;
}
LOWP_LIB error_text watch_frames::text(std::vector<watched_place> const& places,
                                       std::size_t most) const {
  std::uint64_t const all = next_ < ring_.size() ? next_ : ring_.size();
  std::uint64_t const count = count_in(most, all);
  std::uint64_t const first = ring_[slot(next_ - count)].step;
  std::uint64_t step = first, backward = 0;
  error_text body;
  bool is_one_step = true;
  for (std::uint64_t i = next_ - count; i < next_; ++i) {
    watch_frame const& frame = ring_[slot(i)];
    if (std::exchange(step, frame.step) != frame.step) {
      body = joined_text({body, "\n\n", watch_indent, "*** Starting batch number=", frame.step,
                          " ***\n", watch_header});
      is_one_step = false;
    }
    if (frame.pass == watch_pass::backward) ++backward;
    body = joined_text({body, text_of(places[frame.place], frame)});
  }
  char const* const pass = backward == 0 ? " forward" : backward == count ? " backward" : "";
  error_text text = joined_text({"Last ", count});
  if (count < all) text = joined_text({text, " of ", all});
  text = joined_text({text, pass, " frames:\n", watch_header});
  if (!is_one_step) text = joined_text({text, watch_indent, "*** batch number=", first, " ***\n"});
  return joined_text({text, body});
}
LOWP_LIB std::size_t watch_frames::slot(std::uint64_t number) const {
  return static_cast<std::size_t>(number % ring_.size());
}
LOWP_LIB std::uint64_t watch_frames::count_in(std::size_t most, std::uint64_t all) const {
  std::size_t lines = 2, headers = 0;
  std::uint64_t count = 0;
  for (; count < all; ++count) {
    watch_frame const& frame = ring_[slot(next_ - 1 - count)];
    lines += 1 + frame.lines.size();
    if (count == 0) continue;
    if (frame.step != ring_[slot(next_ - count)].step) lines += headers++ == 0 ? 5u : 4u;
    if (lines > most) break;
  }
  return count;
}

#endif

}  // namespace detail::inline LOWP_SHARED

#if defined(LOWP_BODIES)
LOWP_LIB std::string source_place::text() const {
  return detail::joined_text({file + (std::string_view(file).find_last_of('/') + 1), ":", line});
}
#endif

}  // namespace lowp
