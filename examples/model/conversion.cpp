// SPDX-License-Identifier: Apache-2.0
#include "conversion.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <lowp/base/text.hpp>
#include <lowp/format/random.hpp>
#include <lowp/io/safetensors/writer.hpp>

#include "files/problem.hpp"
#include "files/reader.hpp"
#include "files/text.hpp"
#include "selection.hpp"

namespace {

namespace st = lowp::safetensors;

// A tensor of the new file.
struct piece_of_work {
  model::entry const* from = nullptr;
  bool is_rounded = false;
  float scale = 1;
  lowp::amax largest{};  // of the values, if scales of blocks depend on it
};

std::uint64_t bytes_in(model::entry const& e, target const& to) {
  std::uint64_t const codes = e.count() * bits_of(*to.type) / 8;
  if (to.blocks == nullptr) return codes;
  return codes + e.count() / to.blocks->size + (to.blocks->global != nullptr ? sizeof(float) : 0);
}

std::vector<piece_of_work> plan_work(model const& from, plan const& what, progress& bar) {
  selection const chosen(what);
  std::vector<piece_of_work> work;
  for (model::entry const& each : from.entries()) {
    bool const is_rounded = chosen.has(each);
    if (is_rounded && each.count() * bits_of(*what.to->type) % 8 != 0)
      throw problem(fmt::format("tensor {} has {}, in {} no whole number of bytes: --keep it",
                                st::detail::shown(each.name()), counted(each.count(), "value"),
                                name_of(*what.to->type)));
    work.push_back({&each, is_rounded, is_rounded ? 1 : each.scale});
    bool const is_read_twice = is_rounded && (what.is_scaled || what.to->blocks != nullptr);
    bar.expect(each.bytes() * (is_read_twice ? 2 : 1));
  }
  for (piece_of_work& each : work) {
    if (!each.is_rounded || (!what.is_scaled && what.to->blocks == nullptr)) continue;
    auto const census = census_of(from, *each.from, *what.to, 1, bar).counts;
    block_layout const* const blocks = what.to->blocks;
    if (blocks == nullptr) {
      if (may_gain(census)) each.scale = what.to->scale(census.max_abs);
      continue;
    }
    each.largest = largest_of(census);
    if (blocks->global == nullptr) continue;
    if (census.infinite != 0)
      throw problem(fmt::format("tensor {} has {} infinite: {} has no scale for it: --keep it",
                                st::detail::shown(each.from->name()),
                                counted(census.infinite, "value"), what.to->name));
    // By a factor of zero, zeros would be read as NaN.
    if (blocks->global(each.largest.value()) == 0)
      each = {each.from, false, each.from->scale, each.largest};
  }
  return work;
}

std::vector<st::tensor> tensors_of(std::vector<piece_of_work> const& work, target const& to) {
  std::vector<st::tensor> tensors;
  for (piece_of_work const& each : work) {
    if (!each.is_rounded) {
      for (part const& p : each.from->parts()) tensors.push_back(*p.tensor);
      continue;
    }
    auto shape = each.from->tensor->shape;
    if (to.blocks == nullptr) {
      tensors.push_back({.name = each.from->name(), .type = *to.type, .shape = shape});
      continue;
    }
    block_layout const& blocks = *to.blocks;
    auto const named = [&](std::string_view suffix) {
      return each.from->name() + std::string(suffix);
    };
    std::uint64_t const columns = shape.back();
    shape.back() = columns / 2;
    tensors.push_back({.name = named(blocks.codes_suffix), .type = st::dtype::u8, .shape = shape});
    shape.back() = columns / blocks.size;
    tensors.push_back({.name = named(blocks.scales_suffix), .type = blocks.scales, .shape = shape});
    if (blocks.global != nullptr)
      tensors.push_back(
          {.name = named(blocks.global_suffix), .type = st::dtype::f32, .shape = {1}});
  }
  return tensors;
}

std::map<std::string, std::string> metadata_of(model const& from,
                                               std::vector<piece_of_work> const& work) {
  auto metadata = from.metadata();
  for (piece_of_work const& each : work) {
    std::string const key = key_of_scale(each.from->name());
    if (each.scale != 1)
      // A double's shortest text reads back to the power as a float and as a double.
      metadata[key] = lowp::detail::text_of(static_cast<double>(each.scale));
    else if (each.from->takes_scale())
      metadata.erase(key);  // it was the source's, or of another shard
  }
  return metadata;
}

void copy(model const& from, part const& of, st::writer& to, progress& bar) {
  std::uint64_t const size = of.tensor->end - of.tensor->begin;
  std::vector<std::byte> bytes(std::min<std::uint64_t>(size, std::size_t{1} << 21));
  for (std::uint64_t at = 0; at < size;) {
    auto const piece = std::span(bytes).first(std::min<std::uint64_t>(bytes.size(), size - at));
    from.read(of, at, piece);
    to.append_bytes(of.tensor->name, piece);
    at += piece.size();
    bar.add(piece.size());
  }
}

// A census for float would not see what is lost of a double: rounded to odd it is finite and not
// zero.
void add_losses_of_doubles(std::span<double const> in, std::span<std::byte const> out,
                           losses& lost) {
  auto const* const to = reinterpret_cast<float const*>(out.data());
  for (std::size_t i = 0; i < in.size(); ++i) {
    lost.overflow += std::isfinite(in[i]) && !std::isfinite(to[i]) ? 1 : 0;
    lost.flushed += in[i] != 0 && to[i] == 0 ? 1 : 0;
  }
}

// The same with scales of blocks. Flushed are values that are not zero, whose code is.
losses quantize(model const& from, piece_of_work const& work, target const& to,
                rounding_of_tensor const& how, st::writer& out, progress& bar) {
  losses sum;
  block_layout const& blocks = *to.blocks;
  std::string const& name = work.from->name();
  std::vector<std::byte> codes, scales;
  for (reader pieces(from, *work.from); pieces.next(); bar.add(pieces.bytes())) {
    auto const floats = pieces.floats();
    codes.resize(floats.size() / 2);
    scales.resize(floats.size() / blocks.size);
    auto const counts =
        blocks.quantize(floats, work.largest, pieces.first(), how, codes, scales, {});
    sum.overflow += counts.clipped;
    for (std::size_t i = 0; i < floats.size(); ++i) {
      bool const is_zero = (std::to_integer<unsigned>(codes[i / 2]) >> i % 2 * 4 & 7) == 0;
      bool const is_number = std::isfinite(floats[i]);
      sum.flushed += is_zero && is_number && floats[i] != 0 ? 1 : 0;
      sum.lacking += is_number ? 0 : 1;
    }
    out.append_bytes(name + std::string(blocks.codes_suffix), codes);
    out.append_bytes(name + std::string(blocks.scales_suffix), scales);
  }
  if (blocks.global != nullptr) {
    float const scale = blocks.global(work.largest.value());
    out.append(name + std::string(blocks.global_suffix), std::span(&scale, 1));
  }
  return sum;
}

// Returns how many infinities and NaN the format cannot hold.
std::uint64_t lacking_in(target const& to, lowp::range_census const& of) {
  return (to.facts.has_infinity ? 0 : of.infinite) + (to.facts.has_nan ? 0 : of.nan);
}

losses round(model const& from, piece_of_work const& work, target const& to,
             rounding_of_tensor const& how, st::writer& out, progress& bar) {
  losses sum;
  std::vector<std::byte> bytes;
  for (reader pieces(from, *work.from, work.scale); pieces.next(); bar.add(pieces.bytes())) {
    auto const floats = pieces.floats();
    bytes.resize(floats.size() * bits_of(*to.type) / 8);
    // Rounded to odd, doubles are rounded as floats; but for float itself, and with random bits.
    if (pieces.is_double() && (how.is_stochastic || to.type == st::dtype::f32))
      to.round_doubles(pieces.doubles(), pieces.first(), how, bytes);
    else
      to.round(floats, pieces.first(), how, bytes);
    out.append_bytes(work.from->name(), bytes);
    if (pieces.is_double() && to.type == st::dtype::f32) {
      add_losses_of_doubles(pieces.doubles(), bytes, sum);
    } else {
      auto const lost = to.census(floats);
      sum.overflow += lost.overflow;
      sum.flushed += lost.flushed;
      sum.lacking += lacking_in(to, lost);
    }
  }
  return sum;
}

}  // namespace

conversion_report convert(model const& from, convert_options const& o, progress& bar) {
  target const& to = *o.what.to;
  auto const work = plan_work(from, o.what, bar);
  st::writer out(o.out, tensors_of(work, to), metadata_of(from, work));
  conversion_report report;
  for (std::size_t i = 0; i < work.size(); ++i) {
    piece_of_work const& each = work[i];
    report.bytes_before += each.from->all_bytes();
    report.bytes_after += each.is_rounded ? bytes_in(*each.from, to) : each.from->all_bytes();
    (each.is_rounded ? report.converted : report.copied) += 1;
    report.scaled += each.scale != 1 ? 1 : 0;
    if (!each.is_rounded) {
      for (part const& p : each.from->parts()) copy(from, p, out, bar);
      continue;
    }
    rounding_of_tensor const how{.is_stochastic = o.is_stochastic,
                                 .is_fast = o.is_fast,
                                 .seed = o.seed,
                                 .stream = lowp::stream_of(static_cast<std::uint32_t>(i), 0),
                                 .overflow = o.overflow};
    losses const lost = to.blocks == nullptr ? round(from, each, to, how, out, bar)
                                             : quantize(from, each, to, how, out, bar);
    report.lost += lost;
    if (lost.are_some())
      report.losing.push_back({each.from->name(), each.scale, each.from->count(), lost});
  }
  out.finish();
  std::stable_sort(report.losing.begin(), report.losing.end(),
                   [](auto& a, auto& b) { return a.lost.all() > b.lost.all(); });
  return report;
}

std::string losses_of(conversion_report const& r) {
  constexpr std::size_t most = 10;
  if (!r.lost.are_some()) return "";
  std::string text =
      fmt::format("overflow: {}, flushed to zero: {}", r.lost.overflow, r.lost.flushed);
  if (r.lost.lacking != 0)
    text += fmt::format(", infinities and NaN that the format lacks: {}", r.lost.lacking);
  text += "; audit says more\n";
  for (std::size_t i = 0; i < std::min(most, r.losing.size()); ++i) {
    tensor_losses const& t = r.losing[i];
    std::string const scale = t.scale == 1 ? "" : ", scale " + shown_power(t.scale);
    text += fmt::format("  {}: of {}{}: overflow {}, flushed to zero {}{}\n",
                        shown_name(t.name, name_width), counted(t.count, "value"), scale,
                        shown_count(t.lost.overflow), shown_count(t.lost.flushed),
                        t.lost.lacking == 0 ? "" : ", not finite " + shown_count(t.lost.lacking));
  }
  if (r.losing.size() > most) text += fmt::format("  and {} more\n", r.losing.size() - most);
  return text;
}
