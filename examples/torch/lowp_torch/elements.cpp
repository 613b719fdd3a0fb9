// SPDX-License-Identifier: Apache-2.0
// Conversions, sums and averages for functional.py, of all dtypes.
#include "memory.hpp"

#include <type_traits>

namespace {

namespace team {
LOWP_TEAM_CALL(update)
#ifdef __CUDACC__
LOWP_TEAM_CALL(cast)
LOWP_TEAM_CALL(fused_add)
#else
using lowp::cast, lowp::fused_add;  // of pieces
#endif
}  // namespace team

template <class T>
using type = std::type_identity<T>;

/// Calls function(type<T>) with the T of a row's elements.
void with_type(dtype of, auto const& function) {
  if (of == dtype::float32) return function(type<float>{});
  if (of == dtype::bfloat16) return function(type<lowp::bfloat16>{});
  if (of == dtype::float16) return function(type<lowp::float16>{});
  throw std::invalid_argument("no dtype of rows: " + std::to_string(static_cast<int>(of)));
}
/// Calls function(type<T>) with any of the types.
void with_any_type(dtype of, auto const& function) {
  if (of == dtype::float8_e4m3fn) return function(type<lowp::float8_e4m3fn>{});
  if (of == dtype::float8_e5m2) return function(type<lowp::float8_e5m2>{});
  with_type(of, function);
}
auto from(lowp::nearest_even mode, std::uint64_t) { return mode; }
auto from(auto mode, std::uint64_t offset) {
  mode.offset = offset;
  return mode;
}

/// Calls function(floats, first) for pieces of an array. A GPU takes floats in one piece.
void for_each_floats(void const* in, dtype of, size n, auto const& function) {
#ifdef __CUDACC__
  if (of != dtype::float32) throw std::invalid_argument("a GPU takes floats");
  function(read<float>(in, n), 0);
#else
  with_any_type(of, [&]<class From>(type<From>) {
    for_each_piece(n, piece, [&](size first, size count) {
      auto const from = read<From>(static_cast<From const*>(in) + first, count);
      if constexpr (std::is_same_v<From, float>) return function(from, first);
      float scratch[piece];
      std::span const floats(scratch, count);
      lowp::cast(from, floats);
      function(std::span<float const>(floats), first);
    });
  });
#endif
}

}  // namespace

extern "C" {

char const* lowp_cast(void const* in, dtype of_in, void* out, dtype of_out, size n, rounding mode,
                      std::uint64_t seed, std::uint64_t stream, std::uint64_t offset,
                      int saturates) {
  return error_of([&] {
    for_each_floats(in, of_in, n, [&](auto floats, size first) {
      with_any_type(of_out, [&]<class To>(type<To>) {
        auto const to = write<To>(static_cast<To*>(out) + first, floats.size());
        auto const policy = saturates < 0    ? lowp::default_overflow<To>
                            : saturates != 0 ? lowp::overflow::saturate
                                             : lowp::overflow::infinity;
        if constexpr (std::is_same_v<To, float>)
          team::cast(floats, to);
        else
          with_rounding(mode, seed, stream, [&](auto how) {
            team::cast(floats, to, from(how, offset + first), policy);
          });
      });
    });
  });
}

/// `out` may be p.
char const* lowp_fused_add(void const* p, dtype of_p, void const* u, dtype of_u, void* out, size n,
                           double alpha, rounding mode, std::uint64_t seed, std::uint64_t stream,
                           std::uint64_t offset) {
  return error_of([&] {
    with_type(of_p, [&]<class P>(type<P>) {
      lowp::fused_add(write<P>(out, 0), alpha, read<float>(nullptr, 0));  // refuses a wrong alpha
      for_each_floats(u, of_u, n, [&](auto floats, size first) {
        auto const to = write<P>(static_cast<P*>(out) + first, floats.size());
        if (out != p) copy(static_cast<P const*>(p) + first, to.data(), to.size_bytes());
        if constexpr (std::is_same_v<P, float>)
          team::fused_add(to, alpha, floats);
        else
          with_rounding(mode, seed, stream, [&](auto how) {
            team::fused_add(to, alpha, floats, from(how, offset + first));
          });
      });
    });
  });
}

/// @param tensor  the average's number, which names its random bits
char const* lowp_ema(void* average, void const* weights, size n, dtype of, double decay,
                     std::uint64_t step, std::uint64_t seed, std::uint32_t tensor) {
  return error_of([&] {
    with_type(of, [&]<class T>(type<T>) {
      team::update(write<T>(average, n), read<T>(weights, n), lowp::ema{decay}, step,
                   lowp::stochastic{seed, lowp::stream_of(tensor, step), 0});
    });
  });
}

}  // extern "C"
