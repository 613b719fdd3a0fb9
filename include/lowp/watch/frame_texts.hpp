// SPDX-License-Identifier: Apache-2.0
// The texts of frames, and what a watch remembers between them.
#pragma once

#include <lowp/watch/frames.hpp>

#if defined(LOWP_BODIES)

namespace lowp::inline LOWP_SHARED {

LOWP_LIB std::string source_place::text() const {
  return detail::joined_text({file + (std::string_view(file).find_last_of('/') + 1), ":", line});
}

}  // namespace lowp::inline LOWP_SHARED

namespace lowp::detail::inline LOWP_SHARED {

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

LOWP_LIB watch_weight& watch_weights::at(std::size_t place, watch_pass pass, std::uint32_t number) {
  std::size_t const row = 2 * place + (pass == watch_pass::backward ? 1 : 0);
  if (row >= of_.size()) of_.resize(row + 1);
  if (number >= of_[row].size()) of_[row].resize(number + 1);
  return of_[row][number];
}
LOWP_LIB void watch_weights::remember(watch_weight& weight, abs_range const& range,
                                      std::uint64_t step) {
  std::uint64_t const rest = weight.is_known ? every_ - 1 : known_++ % every_;
  weight = {range, step, rest, true};
}
LOWP_LIB std::uint32_t watch_weights::number_of(watched_place& place, std::string_view name) {
  std::size_t number = 0;
  while (number < place.weights.size() && place.weights[number] != name) ++number;
  if (number == place.weights.size()) place.weights.emplace_back(name);
  return static_cast<std::uint32_t>(number);
}

}  // namespace lowp::detail::inline LOWP_SHARED

#endif
