// SPDX-License-Identifier: Apache-2.0
#include "difference.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "files/reader.hpp"
#include "files/text.hpp"
#include "targets/distance.hpp"
#include "targets/targets.hpp"

namespace {

namespace st = lowp::safetensors;
using kind = tensor_difference::kind;

std::uint64_t bytes_that_differ(model const& a, part const& of_a, model const& b, part const& of_b,
                                progress& bar) {
  constexpr std::size_t most = std::size_t{1} << 20;
  std::uint64_t const all = of_a.tensor->end - of_a.tensor->begin;
  std::vector<std::byte> x(std::min<std::uint64_t>(all, most)), y(x.size());
  std::uint64_t count = 0;
  for (std::uint64_t at = 0; at < all; at += x.size()) {
    x.resize(std::min<std::uint64_t>(x.size(), all - at));
    y.resize(x.size());
    a.read(of_a, at, x);
    b.read(of_b, at, y);
    for (std::size_t i = 0; i < x.size(); ++i) count += x[i] != y[i] ? 1 : 0;
    bar.add(2 * x.size());
  }
  return count;
}

std::uint64_t bytes_that_differ(model const& a, model::entry const& of_a, model const& b,
                                model::entry const& of_b, progress& bar) {
  auto const parts_a = of_a.parts(), parts_b = of_b.parts();
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < parts_a.size(); ++i)
    count += bytes_that_differ(a, parts_a[i], b, parts_b[i], bar);
  return count;
}

// Types, shapes and scales; where they are the same, equal bytes are equal tensors.
bool are_alike(model::entry const& a, model::entry const& b) {
  auto const parts_a = a.parts(), parts_b = b.parts();
  auto const is_alike = [](part const& x, part const& y) {
    return x.tensor->type == y.tensor->type && x.tensor->shape == y.tensor->shape;
  };
  return a.scale == b.scale && a.type_text() == b.type_text() &&
         std::ranges::equal(parts_a, parts_b, is_alike);
}

class measuring {
 public:
  // A code of the narrower format times `unit` is a value.
  measuring(tensor_difference& to, format_facts const& in) : to_(to), in_(in) {}

  void add(std::uint64_t element, double x, double y, double unit) {
    if (x == y) return;
    bool const is_nan = std::isnan(x) && std::isnan(y);
    to_.unequal += is_nan ? 0 : 1;
    if (!std::isfinite(x) || !std::isfinite(y)) {
      bool const is_both = !std::isfinite(x) && !std::isfinite(y);
      to_.not_finite += is_nan ? 0 : 1;
      to_.not_finite_in_both += is_nan || !is_both ? 0 : 1;
      return;
    }
    double const ulps = distance(x / unit, y / unit, in_);
    sum_ += ulps;
    // Two numbers may be so near to zero that their distance rounds to it.
    if (ulps <= to_.largest && to_.finite_unequal() != 1) return;
    to_.largest = ulps;
    to_.at = element;
    to_.value_a = x;
    to_.value_b = y;
  }
  void finish(std::uint64_t count) {
    to_.mean = count == 0 ? 0 : sum_ / static_cast<double>(count);
  }

 private:
  tensor_difference& to_;
  format_facts const& in_;
  double sum_ = 0;
};

double value(reader& r, std::span<float const> floats, std::size_t i) {
  return r.is_double() ? r.doubles()[i] : static_cast<double>(floats[i]);
}

void measure(model const& a, model::entry const& of_a, model const& b, model::entry const& of_b,
             tensor_difference& to, progress& bar) {
  format_facts const &in_a = *facts_of(of_a.type()), &in_b = *facts_of(of_b.type());
  bool const is_a = &narrower(in_a, in_b) == &in_a;
  to.ulps_of = is_a ? of_a.type() : of_b.type();
  measuring sums(to, is_a ? in_a : in_b);
  reader x(a, of_a), y(b, of_b);
  while (x.next() && y.next()) {
    auto const floats_x = x.floats(), floats_y = y.floats();
    for (std::size_t i = 0; i < floats_x.size(); ++i)
      sums.add(x.first() + i, value(x, floats_x, i), value(y, floats_y, i),
               (is_a ? x : y).unit_at(i));
    bar.add(x.bytes() + y.bytes());
  }
  sums.finish(of_a.count());
}

tensor_difference compare(model const& a, model::entry const& of_a, model const& b,
                          model::entry const& of_b, progress& bar) {
  tensor_difference d{.a = &of_a, .b = &of_b};
  bool const are_numbers = facts_of(of_a.type()) != nullptr && facts_of(of_b.type()) != nullptr;
  if (of_a.tensor->shape != of_b.tensor->shape) {
    d.what = kind::shape;
    return d;
  }
  if (of_a.type() != of_b.type() && !are_numbers) {
    d.what = kind::bytes;
    return d;
  }
  if (are_alike(of_a, of_b) || !are_numbers) {
    bar.expect(of_a.bytes() + of_b.bytes());
    d.unequal = bytes_that_differ(a, of_a, b, of_b, bar);
    d.what = d.unequal == 0 ? kind::none : kind::bytes;
    if (d.unequal == 0 || !are_numbers) return d;
  }
  d.what = kind::values;
  d.unequal = 0;
  bar.expect(of_a.bytes() + of_b.bytes());
  measure(a, of_a, b, of_b, d, bar);
  return d;
}

auto badness(tensor_difference const& d) {
  return std::tuple(d.what != kind::values, d.not_finite != 0, d.largest, d.mean);
}

// The scales are part of the tensors.
std::vector<std::string> texts_that_differ(model const& a, model const& b) {
  std::vector<std::string> names;
  auto const is_scale = [&](std::string const& key) {
    auto const name = tensor_of_scale(key);
    if (!name) return false;
    model::entry const *const of_a = a.find(*name), *const of_b = b.find(*name);
    return (of_a != nullptr && of_a->takes_scale()) || (of_b != nullptr && of_b->takes_scale());
  };
  for (auto const& [key, text] : a.metadata()) {
    auto const other = b.metadata().find(key);
    if ((other == b.metadata().end() || other->second != text) && !is_scale(key))
      names.push_back(key);
  }
  for (auto const& [key, text] : b.metadata())
    if (!a.metadata().contains(key) && !is_scale(key)) names.push_back(key);
  return names;
}

std::string line_of(tensor_difference const& d) {
  using st::detail::shown;
  std::string const name = shown(d.name());
  auto const described = [](model::entry const* e) {
    return e->blocks == nullptr ? shown(e->type(), e->tensor->shape)
                                : e->type_text() + ", " + shown(e->type(), e->tensor->shape);
  };
  switch (d.what) {
    case kind::only_in_a:
      return fmt::format("{}: only in the first: {}\n", name, described(d.a));
    case kind::only_in_b:
      return fmt::format("{}: only in the second: {}\n", name, described(d.b));
    case kind::shape:
      return fmt::format("{}: {} and {}\n", name, described(d.a), described(d.b));
    case kind::bytes:
      if (d.a->type() != d.b->type())
        return fmt::format("{}: {} and {}\n", name, described(d.a), described(d.b));
      return fmt::format("{}: {}: {} bytes differ\n", name, described(d.a), d.unequal);
    case kind::values:
    case kind::none:
      break;
  }
  std::string const type_a = d.a->type_text(), type_b = d.b->type_text();
  std::string const types = type_a == type_b ? type_a : type_a + " and " + type_b;
  std::string text = fmt::format("{}: {}: ", name, types);
  if (d.unequal == 0) return text + "equal numbers\n";
  text += fmt::format("{} of {} differ", d.unequal, d.a->count());
  if (d.finite_unequal() != 0)
    text += fmt::format(
        ", by at most {:.4g} ulps of {} at {} ({:.9g} and {:.9g}), by {:.4g} in the mean",
        d.largest, name_of(d.ulps_of), place_in(d.a->tensor->shape, d.at), d.value_a, d.value_b,
        d.mean);
  auto const add = [&](std::uint64_t many, char const* what) {
    if (many != 0) text += fmt::format("; {} not finite in {}", many, what);
  };
  add(d.not_finite - d.not_finite_in_both, "one file only");
  add(d.not_finite_in_both, "both, and not the same");
  return text + '\n';
}

}  // namespace

bool tensor_difference::is_within(double ulps) const {
  return what == kind::none || (what == kind::values && not_finite == 0 && largest <= ulps);
}

difference compare(model const& a, model const& b, progress& bar) {
  difference result;
  for (model::entry const& of_a : a.entries()) {
    model::entry const* const of_b = b.find(of_a.name());
    if (of_b == nullptr) {
      result.tensors.push_back({.what = kind::only_in_a, .a = &of_a});
      continue;
    }
    tensor_difference d = compare(a, of_a, b, *of_b, bar);
    if (d.what == kind::none)
      ++result.equal;
    else
      result.tensors.push_back(std::move(d));
  }
  for (model::entry const& of_b : b.entries())
    if (a.find(of_b.name()) == nullptr)
      result.tensors.push_back({.what = kind::only_in_b, .b = &of_b});
  std::stable_sort(result.tensors.begin(), result.tensors.end(),
                   [](auto& x, auto& y) { return badness(x) > badness(y); });
  result.metadata = texts_that_differ(a, b);
  return result;
}

std::string place_in(std::vector<std::uint64_t> const& shape, std::uint64_t number) {
  std::string text;
  for (std::size_t i = shape.size(); i-- > 0;) {
    std::uint64_t const extent = std::max<std::uint64_t>(shape[i], 1);
    text = fmt::format("{}{}", number % extent, text.empty() ? "" : ", " + text);
    number /= extent;
  }
  return fmt::format("[{}]", text);
}

std::string_view name_of(kind what) {
  constexpr std::string_view names[] = {
      "none", "only in the first", "only in the second", "shape", "bytes", "values"};
  return names[static_cast<std::size_t>(what)];
}

void write_report(difference const& d, std::size_t top, sink const& to) {
  std::size_t const shown = top == 0 ? d.tensors.size() : std::min(top, d.tensors.size());
  for (std::size_t i = 0; i < shown; ++i) to(line_of(d.tensors[i]));
  if (shown < d.tensors.size())
    to(fmt::format("... and {} more (--top 0)\n", d.tensors.size() - shown));
  for (std::string const& name : d.metadata)
    to(fmt::format("metadata {} differ\n", st::detail::shown(name)));
  std::uint64_t const all = d.equal + d.tensors.size();
  double largest = 0;
  for (tensor_difference const& each : d.tensors) largest = std::max(largest, each.largest);
  std::string text = fmt::format("{} of {} {} equal bits", d.equal, counted(all, "tensor"),
                                 all == 1 ? "has" : "have");
  if (largest != 0) text += fmt::format("; the others differ by at most {:.4g} ulps", largest);
  to(text + '\n');
}
