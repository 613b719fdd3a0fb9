// SPDX-License-Identifier: Apache-2.0
// The latest frames of an overflow_watch, and the weights that it remembers between them. The text
// of frames is, line for line, that of DebugUnderflowOverflow of Hugging Face's transformers
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

struct watch_weight {
  abs_range range;
  std::uint64_t step = 0;
  std::uint64_t rest = 0;  ///< number of further frames that may show this reading
  bool is_known = false;
};

/// The weights of all places and their gradients, by the number of their name in the place.
class watch_weights {
 public:
  explicit watch_weights(std::uint64_t every) : every_(every) {}

  watch_weight& at(std::size_t place, watch_pass pass, std::uint32_t number);

  /// Stores a reading. Weights are read in turns, so that each step reads about as many.
  void remember(watch_weight& weight, abs_range const& range, std::uint64_t step);

  /// Returns the number of a weight. A new name gets the next number.
  static std::uint32_t number_of(watched_place& place, std::string_view name);

 private:
  std::uint64_t every_, known_ = 0;
  std::vector<std::vector<watch_weight>> of_;
};

/// Returns true if a frame may show the last reading of a weight of `count` elements. Every frame
/// reads a weight from a 64th of the overflow of `To` on, so also after an unsound reading.
template <census_target To>
LOWP_HOST_FN bool may_rest(watch_weight const& weight, std::size_t count) {
  constexpr std::uint32_t margin = borders_of<To>.overflow - (6u << 23);
  return weight.rest != 0 && weight.range.count == count && weight.range.nan == 0 &&
         weight.range.max_abs.bits < margin;
}

}  // namespace detail::inline LOWP_SHARED

}  // namespace lowp
