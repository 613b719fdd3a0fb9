// SPDX-License-Identifier: Apache-2.0
// oneDNN: a reorder that changes the type only. It does not go to float16: on a processor without
// arithmetic in it, version 2.6 runs its reference code, a hundred times slower.
#include "onednn.hpp"

#include "operations/cast.hpp"

#include <cstddef>
#include <string>

namespace {

namespace onednn = bench::onednn;

template <class From, class To>
void add_cast(bench::suite& cases, std::string const& name, bench::own_way allowed) {
  auto const make = [](std::size_t n) {
    auto const in = onednn::elements(onednn::type_of<From>, n);
    auto const out = onednn::elements(onednn::type_of<To>, n);
    auto const& engine = onednn::engine();
    return onednn::call(dnnl::reorder({engine, in, engine, out}), in, out);
  };
  bench::add_cast_peer<From, To>(cases, name + "/onednn", lowp::nearest_even{},
                                 onednn::made_once(make), allowed);
}

bench::peer const peer("cast", [](bench::suite& cases) {
  onednn::begin();
  if (!onednn::has_bfloat16()) return;
  using lowp::bfloat16;
  // Subnormal inputs are exempt: the instruction, if there is one, flushes them.
  add_cast<float, bfloat16>(cases, "float->bfloat16/nearest_even", {.subnormal_inputs = true});
  add_cast<bfloat16, float>(cases, "bfloat16->float/exact", {});
});

}  // namespace
