// SPDX-License-Identifier: Apache-2.0
#include "pages/verdict.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "files/text.hpp"

namespace {

struct loss {
  std::uint64_t values = 0, tensors = 0;

  void add(std::uint64_t more) {
    values += more;
    tensors += more != 0 ? 1 : 0;
  }
};

std::string words(char const* what, loss const& l) {
  if (l.values == 0) return fmt::format("{} none", what);
  return fmt::format("{} {} in {}", what, counted(l.values, "value"), counted(l.tensors, "tensor"));
}

}  // namespace

verdict verdict_on(audit const& a, bool is_scaled, double flushed) {
  loss overflow, flush, infinite, nan;
  double worst_share = 0;
  for (tensor_audit const& t : a.tensors) {
    figures const& f = t.chosen(is_scaled);
    overflow.add(f.overflow);
    flush.add(f.flushed);
    infinite.add(f.infinite);
    nan.add(f.nan);
    worst_share = std::max(worst_share, f.share_flushed());
  }
  bool const keeps_special = (infinite.values == 0 || a.to->facts.has_infinity) &&
                             (nan.values == 0 || a.to->facts.has_nan);
  verdict v;
  v.fits = overflow.values == 0 && worst_share <= flushed && keeps_special;
  v.text = fmt::format("{} {}{}: {}, {}", v.fits ? "fits" : "does not fit", a.to->name,
                       is_scaled ? " with a scale for each tensor" : "",
                       words("overflow", overflow), words("flushed to zero", flush));
  if (flush.values != 0) v.text += fmt::format(" (at most {:.2g} of a tensor)", worst_share);
  auto const already = [&](char const* what, loss const& l, bool has) {
    if (l.values == 0) return;
    v.text += ", " + words(what, l) + (has ? "" : ", which the format lacks");
  };
  already("infinite already", infinite, a.to->facts.has_infinity);
  already("NaN already", nan, a.to->facts.has_nan);
  return v;
}
