// SPDX-License-Identifier: Apache-2.0
// Products of block-scaled operands, to test the kernels of others: slow, and exact if asked.
//
//     reference_matmul(x, y, out, columns, accumulation::exact, [rounding], [overflow])
#pragma once

#include <lowp/base/environment.hpp>
#include <lowp/quantization/quantized.hpp>
#include <lowp/report/exact_sum.hpp>

namespace lowp {

enum class accumulation : std::uint8_t {
  exact,     ///< rounds the exact sum once
  in_float,  ///< a float for each block and one for the row: see reference_matmul
};

namespace detail {

LOWP_EXACT_BEGIN

inline namespace LOWP_UNIT {

/// Returns the exact sum of x(i) * y(i), rounded to odd, so that a second rounding is right.
LOWP_OPAQUE double exact_product(auto const& x, auto const& y, std::size_t size) {
  basic_exact_sum<-960, 32> sum;
  double special = 0;
  constexpr std::uint64_t infinity = std::uint64_t{0x7ff} << 53;  // as bits without the sign
  for (std::size_t i = 0; i < size; ++i) {
    double const a = x(i), b = y(i), product = a * b;
    if (lanes::bits(product) << 1 >= infinity)
      special += product;
    else
      (sum += product) += __builtin_fma(a, b, -product);
  }
  if (lanes::bits(special) << 1 != 0) return special;
  double const nearest = sum.value();
  sum += -nearest;
  std::uint64_t const bits = lanes::bits(nearest), rest = lanes::bits(sum.value());
  return rest << 1 == 0 ? nearest : lanes::from_bits<double>((bits - ((bits ^ rest) >> 63)) | 1);
}

LOWP_HOST_FN float tensor_scale_of(auto const& q) {
  return q.tensor_scale_at != nullptr ? *q.tensor_scale_at : q.tensor_scale;
}

template <int Block>
LOWP_OPAQUE float product_in_float(auto const& x, std::size_t first_x, auto const& y,
                                   std::size_t first_y, std::size_t size) {
  using namespace lanes;
  float sum = 0;
  for (std::size_t i = 0; i < size; i += Block) {
    float block = 0;
    for (std::size_t j = i; j < size && j < i + Block; ++j)
      block = fma(float(x.codes[first_x + j]), float(y.codes[first_y + j]), block);
    float const sx = x.scales[(first_x + i) / Block], sy = y.scales[(first_y + i) / Block];
    sum = add(sum, mul(mul(block, sx), sy));
  }
  return mul(mul(sum, tensor_scale_of(x)), tensor_scale_of(y));
}

}  // namespace LOWP_UNIT

LOWP_EXACT_END

/// Multiplies rows: out[m * N + n] = round(sum over k of x[m * columns + k] * y[n * columns + k]).
///
/// In float, fma adds a block's products of codes from 0, in order. The block's sum times x's scale
/// times y's scale is added to the row's. At last come the tensors' scales, x's first.
///
/// @param x        M rows of `columns` elements, in whole blocks; a single row may have a short one
/// @param y        N such rows, which makes y the transpose of a matrix
/// @param out      M x N elements of float or a narrow type
/// @param how      the additions; an exact sum of 0 is +0. Its terms are doubles, code * scale *
///                 tensor_scale: exact for codes of at most 5 significant bits
/// @throws std::invalid_argument  rows are no whole blocks, sizes do not fit, or ranges overlap
struct reference_matmul_operation {
  template <class Tx, class Ty, int Block, class Sx, class Sy, output Out,
            deterministic_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(quantized<Tx, Block, Sx> const& x, quantized<Ty, Block, Sy> const& y,
                               Out&& out, std::size_t columns, accumulation how, R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    char const* const name = "reference_matmul";
    std::size_t const in_x = x.codes.size(), in_y = y.codes.size(), size = std::ranges::size(out);
    call_check check(name);
    for (auto const& [why, which] : {std::pair{x.invalid(), ": x: "}, {y.invalid(), ": y: "}})
      if (!why.empty()) check.add(joined_text({name, which, why}));
    bool const is_row = in_x == columns && in_y == columns, is_whole = columns % Block == 0;
    if (columns == 0 || !(is_row || is_whole) || in_x % columns != 0 || in_y % columns != 0 ||
        size != in_x / columns * (in_y / columns))
      check.add(
          joined_text({name, ": ", in_x, " and ", in_y, " elements in rows of ", columns,
                       " and blocks of ", std::size_t{Block}, " do not make ", size, " results"}));
    std::array ranges{extent("out", out), extent("x", x.codes), extent("x", x.scales, ".scales"),
                      extent("y", y.codes), extent("y", y.scales, ".scales")};
    ranges[0].is_written = true;
    check.no_written_overlap(ranges.data(), ranges.size());
    refuse_if(check.text());
    default_environment const environment;
    auto const row = [](auto const& q, std::size_t first) {
      return [&q, first](std::size_t i) {
        return static_cast<double>(float(q.codes[first + i])) *
               static_cast<double>(float{q.scales[(first + i) / Block]}) *
               static_cast<double>(tensor_scale_of(q));
      };
    };
    auto* element = std::ranges::data(out);
    for (std::size_t m = 0; m < in_x; m += columns)
      for (std::size_t n = 0; n < in_y; n += columns)
        *element++ = convert<element_of<Out>>(
            how == accumulation::exact
                ? exact_product(row(x, m), row(y, n), columns)
                : static_cast<double>(product_in_float<Block>(x, m, y, n, columns)),
            rounding, policy);
  }
};

}  // namespace detail

inline constexpr detail::reference_matmul_operation reference_matmul{};

}  // namespace lowp
