// SPDX-License-Identifier: Apache-2.0
// Narrow values, and containers of them, in archives of cereal, which is not included here. An
// archive holds codes, as integers in JSON and XML too, so every value reads back to the same bits.
// A code with more bits than its format throws std::invalid_argument.
#pragma once

#include <lowp/base/text.hpp>
#include <lowp/format/basic_float.hpp>

#include <stdexcept>

namespace lowp {

template <class Archive, narrow T>
typename T::storage save_minimal(Archive const&, T const& x) {
  return x.bits();
}
template <class Archive, narrow T>
void load_minimal(Archive const&, T& x, typename T::storage const& code) {
  auto const loaded = T::from_bits(code);
  if (loaded.bits() != code)
    detail::raise<std::invalid_argument>("load_minimal: code " + detail::text_of(code) +
                                         " has more than " + detail::text_of(T::descriptor.bits()) +
                                         " bits");
  x = loaded;
}

}  // namespace lowp
