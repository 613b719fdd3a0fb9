// SPDX-License-Identifier: Apache-2.0
// The library's recipes by name, for compare.py.
#include <lowp/quantize.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace {

using namespace lowp;

struct call {
  std::string_view name;
  std::span<float const> x;
  std::uint8_t *scales, *codes;

  /// Quantizes if the recipe is the one of this name.
  template <class T, int Block, class Scale>
  bool by(quantization_recipe<T, Block, Scale> const& recipe) const {
    if (recipe.name != name) return false;
    quantized<T, Block, Scale> q{std::span(reinterpret_cast<T*>(codes), x.size()),
                                 std::span(reinterpret_cast<Scale*>(scales), x.size() / Block)};
    quantize(x, q, recipe);
    return true;
  }
  template <class T>
  bool by_microscaling() const {
    using namespace recipes;
    return by(te_2_20_mx<T>) || by(torchao_0_18_floor<T>) || by(torchao_0_18_ceil<T>) ||
           by(torchao_0_18_even<T>) || by(torchao_0_18_rceil<T>) || by(torchao_main_floor<T>) ||
           by(torchao_main_ceil<T>) || by(torchao_main_even<T>) || by(torchao_main_rceil<T>) ||
           by(microxcaling_nearest<T>) || by(microxcaling_even<T>);
  }
};

}  // namespace

/// Returns false if there is no recipe of this name for these elements.
extern "C" bool quantize_by_name(char const* name, char const* elements, float const* x,
                                 std::size_t size, std::uint8_t* scales, std::uint8_t* codes) {
  using namespace recipes;
  call const c{name, {x, size}, scales, codes};
  std::string_view const kind = elements;
  if (kind == "e2m3") return c.by_microscaling<float6_e2m3fn>();
  if (kind == "e3m2") return c.by_microscaling<float6_e3m2fn>();
  if (kind == "e4m3") return c.by_microscaling<float8_e4m3fn>();
  if (kind == "e5m2") return c.by_microscaling<float8_e5m2>();
  return c.by(te_2_20_nvfp4) || c.by(torchao_main_nvfp4_training) ||
         c.by(torchao_0_18_nvfp4_two_level) || c.by(torchao_0_18_nvfp4_one_level) ||
         c.by(compressed_tensors_0_20_nvfp4) || c.by(modelopt_0_47_nvfp4) || c.by(ggml_nvfp4) ||
         c.by(te_2_20_mxfp4) || c.by(compressed_tensors_0_20_mxfp4) || c.by(modelopt_0_47_mxfp4) ||
         c.by(ggml_mxfp4) || c.by_microscaling<float4_e2m1fn>();
}
