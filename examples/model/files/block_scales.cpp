// SPDX-License-Identifier: Apache-2.0
#include "files/block_scales.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>

#include "files/problem.hpp"

namespace {

namespace st = lowp::safetensors;
using st::dtype;

struct naming {
  std::string_view codes, scales;
};
constexpr std::array<naming, 4> namings{
    {{"_packed", "_scale"}, {"_blocks", "_scales"}, {"", "_scale"}, {"weight", "scale"}}};

std::string described(st::tensor const& t) {
  return fmt::format("{} {}", st::detail::shown(t.name), st::detail::shown(t.type, t.shape));
}

bool is_packed_in_bytes(dtype type) { return type == dtype::u8 || type == dtype::i8; }

// The type of the elements of a tensor of codes; none if it has none of these.
std::optional<dtype> element_of(dtype type) {
  switch (type) {
    case dtype::u8:
    case dtype::i8:
      return dtype::f4_e2m1;
    case dtype::f4_e2m1:
    case dtype::f6_e2m3:
    case dtype::f6_e3m2:
    case dtype::f8_e4m3:
    case dtype::f8_e5m2:
      return type;
    default:
      return {};
  }
}

// Gives `found` the shape of all elements and the size of a block. False if the scales do not fit.
bool fit(block_scales& found) {
  std::vector<std::uint64_t> const& codes = found.codes.tensor->shape;
  std::vector<std::uint64_t> const& scales = found.scales.tensor->shape;
  std::uint64_t const per_code = is_packed_in_bytes(found.codes.tensor->type) ? 2 : 1;
  if (codes.empty() || scales.empty() || codes.back() == 0 || scales.back() == 0) return false;
  std::vector<std::uint64_t>& shape = found.whole.shape;
  shape = codes;
  if (__builtin_mul_overflow(shape.back(), per_code, &shape.back())) return false;
  if (codes.size() == scales.size() + 1) {  // a block has an extent of its own
    found.size = shape.back();
    shape.pop_back();
    if (shape.back() != scales.back() ||
        __builtin_mul_overflow(shape.back(), found.size, &shape.back()))
      return false;
  } else if (codes.size() == scales.size() && shape.back() % scales.back() == 0) {
    found.size = shape.back() / scales.back();
  } else {
    return false;
  }
  if (!std::equal(scales.begin(), scales.end() - 1, shape.begin())) return false;
  return found.size == (found.is_of_e4m3() ? 16 : 32);
}

// The same for scales of squares, the last of which may be smaller.
bool fit_squares(block_scales& found) {
  constexpr std::uint64_t side = 128;
  std::vector<std::uint64_t> const& codes = found.codes.tensor->shape;
  std::vector<std::uint64_t> wanted = codes;
  dtype const type = found.codes.tensor->type;
  if ((type != dtype::f8_e4m3 && type != dtype::f8_e5m2) || codes.size() < 2) return false;
  for (std::size_t i = codes.size() - 2; i < codes.size(); ++i)
    wanted[i] = blocks_along(codes[i], side);
  if (found.scales.tensor->shape != wanted) return false;
  found.whole.shape = codes;
  found.size = found.rows = side;
  return true;
}

// Finds the scale for all by its name.
void find_global(block_scales& found, std::string_view name,
                 std::function<part(std::string_view)> const& find) {
  part const multiplies = find(std::string(name) + "_scale_2");
  part const divides = find(std::string(name) + "_global_scale");
  bool const is_both = multiplies.tensor != nullptr && divides.tensor != nullptr;
  if (is_both || (multiplies.tensor == nullptr && divides.tensor == nullptr))
    throw problem(fmt::format(
        "tensor {} has scales of blocks, {}, and {} of {}_scale_2 (a factor) and {}_global_scale "
        "(its inverse): one of them must be there",
        described(*found.codes.tensor), described(*found.scales.tensor),
        is_both ? "both" : "neither", st::detail::printable(name), st::detail::printable(name)));
  found.global = multiplies.tensor != nullptr ? multiplies : divides;
  found.convention =
      multiplies.tensor != nullptr ? global_scale::multiplies : global_scale::divides;
  std::vector<std::uint64_t> const &shape = found.global.tensor->shape, &all = found.whole.shape;
  bool const is_of_outermost =
      shape.size() < all.size() && std::ranges::equal(shape, std::span(all).first(shape.size()));
  bool const is_one = element_count(*found.global.tensor) == 1;
  if (found.global.tensor->type != dtype::f32 || !(is_one || is_of_outermost))
    throw problem(fmt::format(
        "the scale of tensor {} is {}, neither one F32 nor one for each of its outermost extents",
        described(*found.codes.tensor), described(*found.global.tensor)));
  found.factors.resize(static_cast<std::size_t>(element_count(*found.global.tensor)));
}

}  // namespace

std::string block_scales::text() const {
  if (convention == global_scale::multiplies) return "NVFP4 (ModelOpt)";
  if (convention == global_scale::divides) return "NVFP4 (compressed-tensors)";
  if (rows > 1) return fmt::format("{} in blocks of {} x {}", name_of(whole.type), rows, size);
  return fmt::format("MXFP{}", bits_of(whole.type));
}

std::optional<block_scales> find_block_scales(part const& codes,
                                              std::function<part(std::string_view)> const& find) {
  auto const element = element_of(codes.tensor->type);
  if (!element || codes.tensor->shape.empty() || element_count(*codes.tensor) == 0) return {};
  for (naming const& each : namings) {
    std::string_view name = codes.tensor->name;
    if (!name.ends_with(each.codes)) continue;
    name.remove_suffix(each.codes.size());
    part const scales = find(std::string(name).append(each.scales));
    if (scales.tensor == nullptr) continue;
    dtype const of_scales = scales.tensor->type;
    // A U8 with a U8 beside it may be anything, unless its name says that it holds two codes.
    bool const may_be_bytes =
        of_scales == dtype::u8 && (each.codes == "_packed" || each.codes == "_blocks" ||
                                   !is_packed_in_bytes(codes.tensor->type));
    bool const is_nvfp4 = of_scales == dtype::f8_e4m3 && bits_of(*element) == 4;
    if (!is_nvfp4 && of_scales != dtype::f8_e8m0 && !may_be_bytes) continue;
    block_scales found;
    found.codes = codes;
    found.scales = scales;
    if (!fit(found) && !fit_squares(found))
      throw problem(fmt::format(
          "the scales of tensor {} are {}: that is not one for every {} values{}",
          described(*codes.tensor), described(*scales.tensor), found.is_of_e4m3() ? 16 : 32,
          bits_of(*element) == 8 ? ", nor for every 128 x 128" : ""));
    if (is_nvfp4) find_global(found, name, find);
    found.whole.name = each.codes == "weight" ? codes.tensor->name : std::string(name);
    found.whole.type = *element;
    found.whole.begin = codes.tensor->begin;
    found.whole.end = codes.tensor->end;
    return found;
  }
  return {};
}
