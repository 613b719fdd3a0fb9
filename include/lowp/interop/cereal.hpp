// SPDX-License-Identifier: Apache-2.0
// The functions that cereal finds by argument-dependent lookup; lowp/cereal.hpp has the contract.
#pragma once

#include <lowp/format/basic_float.hpp>

namespace lowp {

template <class Archive, format F>
typename basic_float<F>::storage save_minimal(Archive const&, basic_float<F> const& x) {
  return x.bits();
}
template <class Archive, format F>
void load_minimal(Archive const&, basic_float<F>& x, typename basic_float<F>::storage const& code) {
  x = basic_float<F>::from_bits(code);
}

}  // namespace lowp
