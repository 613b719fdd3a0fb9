// SPDX-License-Identifier: Apache-2.0
#include "products.hpp"

#include <lowp/quantize.hpp>
#include <lowp/value.hpp>

#include <cstddef>
#include <vector>

namespace transformers {

namespace {

using lowp::float4_e2m1fn, lowp::float8_e4m3fn;

// Codes of a byte each, and packed ones.
template <class T>
struct storage_of {
  using type = T;
  std::vector<T> codes;
  explicit storage_of(std::size_t n) : codes(n) {}
  std::span<T> view() { return codes; }
};
template <>
struct storage_of<float4_e2m1fn> {
  using type = lowp::packed<float4_e2m1fn>;
  std::vector<std::uint8_t> bytes;
  std::size_t size;
  explicit storage_of(std::size_t n) : bytes(n / 2), size(n) {}
  type view() { return type(bytes, size); }
};

// Quantizes rows of `columns` elements, and reads them back.
template <class T, int Block, class Scale, class Rounding>
void quantize_and_back(std::span<float> x, std::size_t columns,
                       lowp::quantization_recipe<T, Block, Scale> const& recipe,
                       Rounding const& rounding) {
  storage_of<T> storage(x.size());
  std::vector<Scale> scales(x.size() / Block);
  lowp::quantized<typename storage_of<T>::type, Block, Scale> q{storage.view(), scales};
  lowp::quantize(x, q, recipe, rounding, {.columns = columns});
  lowp::dequantize(q, x);
}

// Choice of operands, and what happens to them.
struct way {
  bool weights = true, activations = true, gradients = true;
  bool draws = false;    // gradients are rounded stochastically
  bool rotates = false;  // operands of the gradients of weights are transformed first
};

template <way Way, auto const& OfWeights, auto const& OfActivations, auto const& OfGradients>
class quantizer final : public operand_rounding {
 public:
  void round(operand what, draw const& random, matrix& columns) const override {
    bool const is_across = what == operand::activation_across || what == operand::gradient_across;
    bool const is_gradient = what == operand::gradient || what == operand::gradient_across;
    bool const is_weight = what == operand::weight;
    bool const is_transformed = Way.rotates && is_across;
    bool const is_chosen = is_weight ? Way.weights : is_gradient ? Way.gradients : Way.activations;
    if (!is_chosen && !is_transformed) return;

    // Zeros fill the last blocks and tiles.
    auto const up = [](Eigen::Index n, Eigen::Index multiple) {
      return (n + multiple - 1) / multiple * multiple;
    };
    matrix padded = matrix::Zero(up(columns.rows(), 32), up(columns.cols(), 16));
    padded.topLeftCorner(columns.rows(), columns.cols()) = columns;
    std::span const x(padded.data(), static_cast<std::size_t>(padded.size()));

    // Both operands of a product across tokens are transformed, and the product is the same.
    if (is_transformed) lowp::hadamard(x, x, lowp::te_2_20_signs);
    if (is_chosen) quantize(what, random, x, static_cast<std::size_t>(padded.rows()));
    columns = padded.topLeftCorner(is_transformed ? padded.rows() : columns.rows(), columns.cols())
                  .eval();
  }

 private:
  static void quantize(operand what, draw const& random, std::span<float> x, std::size_t columns) {
    bool const is_gradient = what == operand::gradient || what == operand::gradient_across;
    if (what == operand::weight)
      quantize_and_back(x, columns, OfWeights, lowp::nearest_even{});
    else if (!is_gradient)
      quantize_and_back(x, columns, OfActivations, lowp::nearest_even{});
    else if constexpr (Way.draws)
      quantize_and_back(
          x, columns, OfGradients,
          lowp::stochastic{.seed = random.seed, .stream = random.step << 16 | random.which});
    else
      quantize_and_back(x, columns, OfGradients, lowp::nearest_even{});
  }
};

template <way Way, auto const& OfWeights, auto const& OfActivations = OfWeights,
          auto const& OfGradients = OfActivations>
std::unique_ptr<operand_rounding> make() {
  return std::make_unique<quantizer<Way, OfWeights, OfActivations, OfGradients>>();
}

namespace r = lowp::recipes;
constexpr way nearest{}, draws{.draws = true}, rotates{.rotates = true},
    both{.draws = true, .rotates = true};

constexpr product_format formats[] = {
    {"fp32", "fp32", nullptr},
    {"mxfp8", "MXFP8 (e4m3)", make<nearest, r::te_2_20_mx<float8_e4m3fn>>},
    {"mxfp4", "MXFP4, all nearest", make<nearest, r::te_2_20_mxfp4>},
    {"mxfp4-sr", "MXFP4, gradients stochastic", make<draws, r::te_2_20_mxfp4>},
    {"mxfp4-sr-rht", "MXFP4, gradients stochastic, Hadamard", make<both, r::te_2_20_mxfp4>},
    {"nvfp4", "NVFP4, all nearest", make<nearest, r::te_2_20_nvfp4_16x16, r::te_2_20_nvfp4>},
    {"nvfp4-rht", "NVFP4, all nearest, Hadamard",
     make<rotates, r::te_2_20_nvfp4_16x16, r::te_2_20_nvfp4>},
    {"nvfp4-sr", "NVFP4, gradients stochastic",
     make<draws, r::te_2_20_nvfp4_16x16, r::te_2_20_nvfp4>},
    {"nvfp4-te", "NVFP4 of Transformer Engine: both",
     make<both, r::te_2_20_nvfp4_16x16, r::te_2_20_nvfp4>},
    {"nvfp4-unbiased", "NVFP4, gradients by nvfp4_unbiased",
     make<draws, r::te_2_20_nvfp4_16x16, r::te_2_20_nvfp4, r::nvfp4_unbiased>},
    {"nvfp4-unbiased-rht", "NVFP4, gradients by nvfp4_unbiased, Hadamard",
     make<both, r::te_2_20_nvfp4_16x16, r::te_2_20_nvfp4, r::nvfp4_unbiased>},
    {"weights", "NVFP4, weights alone",
     make<way{.activations = false, .gradients = false}, r::te_2_20_nvfp4_16x16>},
    {"activations", "NVFP4, activations alone",
     make<way{.weights = false, .gradients = false, .rotates = true}, r::te_2_20_nvfp4>},
    {"gradients", "NVFP4, gradients alone, as Transformer Engine",
     make<way{.weights = false, .activations = false, .draws = true, .rotates = true},
          r::te_2_20_nvfp4>},
};

}  // namespace

std::span<product_format const> product_formats() { return formats; }

}  // namespace transformers
