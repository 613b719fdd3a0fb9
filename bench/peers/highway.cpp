// SPDX-License-Identifier: Apache-2.0
// Highway: PromoteTo and DemoteTo. Its bfloat16 is not demoted to here: before 1.1 that truncates.
#include "operations/cast.hpp"

// The machine's own target alone: Highway 1.0 refuses some processors whose best one is not in its
// list.
#define HWY_COMPILE_ONLY_STATIC
#include <hwy/highway.h>

#include <cstddef>
#include <span>
#include <string>

namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class FromHighway, class From>
void add_promotion(bench::suite& cases, std::string const& name) {
  auto const cast = [](std::span<From const> in, std::span<float> out) {
    hn::ScalableTag<float> const wide;
    hn::Rebind<FromHighway, decltype(wide)> const narrow;
    auto const* const from = reinterpret_cast<FromHighway const*>(in.data());
    for (std::size_t i = 0; i < in.size(); i += hn::Lanes(wide))
      hn::StoreU(hn::PromoteTo(wide, hn::LoadU(narrow, from + i)), wide, out.data() + i);
  };
  bench::add_cast_peer<From, float>(cases, name + "/highway", lowp::nearest_even{}, cast);
}

bench::peer const highway("cast", [](bench::suite& cases) {
  bench::note_version("Highway", HWY_MAJOR, HWY_MINOR, HWY_PATCH);
  add_promotion<hwy::bfloat16_t, lowp::bfloat16>(cases, "bfloat16->float/exact");
  add_promotion<hwy::float16_t, lowp::float16>(cases, "float16->float/exact");
  bench::add_cast_peer<float, lowp::float16>(
      cases, "float->float16/nearest_even/highway", lowp::nearest_even{},
      [](std::span<float const> in, std::span<lowp::float16> out) {
        hn::ScalableTag<float> const wide;
        hn::Rebind<hwy::float16_t, decltype(wide)> const narrow;
        auto* const to = reinterpret_cast<hwy::float16_t*>(out.data());
        for (std::size_t i = 0; i < in.size(); i += hn::Lanes(wide))
          hn::StoreU(hn::DemoteTo(narrow, hn::LoadU(wide, in.data() + i)), narrow, to + i);
      });
});

}  // namespace
