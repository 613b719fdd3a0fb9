// SPDX-License-Identifier: Apache-2.0
// Conversions by the name of a format, which convert.py compares with those of a package.
#include <lowp/cast.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "oracle/facts.hpp"

namespace {

// Calls fn(type) for the format of this name. Returns false for an unknown name.
template <class Fn>
bool with_format(char const* name, Fn fn) {
#define CALL_IF(format, ...)                \
  if (std::strcmp(name, #format) == 0) {    \
    fn(std::type_identity<lowp::format>{}); \
    return true;                            \
  }
  ORACLE_FORMATS(CALL_IF)
#undef CALL_IF
  return false;
}

lowp::overflow preset(char const* name) {
  return std::strcmp(name, "torch") == 0 ? lowp::overflow::torch : lowp::overflow::ml_dtypes;
}

template <class R>
bool encode_all(char const* name, float const* in, void* out, std::size_t size, R mode,
                lowp::overflow policy) {
  return with_format(name, [&]<class T>(std::type_identity<T>) {
    lowp::cast(std::span(in, size), std::span(static_cast<T*>(out), size), mode, policy);
  });
}

}  // namespace

extern "C" {

bool encode(char const* name, float const* in, void* out, std::size_t size, bool away,
            char const* policy) {
  return away ? encode_all(name, in, out, size, lowp::nearest_away{}, preset(policy))
              : encode_all(name, in, out, size, lowp::nearest_even{}, preset(policy));
}

bool encode_doubles(char const* name, double const* in, void* out, std::size_t size) {
  return with_format(name, [&]<class T>(std::type_identity<T>) {
    for (std::size_t i = 0; i < size; ++i)
      static_cast<T*>(out)[i] =
          lowp::convert<T>(in[i], lowp::nearest_even{}, lowp::overflow::ml_dtypes);
  });
}

bool decode(char const* name, void const* in, float* out, std::size_t size) {
  return with_format(name, [&]<class T>(std::type_identity<T>) {
    lowp::cast(std::span(static_cast<T const*>(in), size), std::span(out, size));
  });
}
}
