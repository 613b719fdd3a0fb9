// SPDX-License-Identifier: Apache-2.0
// MiniLM, a BERT of six layers, in lowp's pieces (J. Devlin et al., arXiv:1810.04805; W. Wang et
// al., arXiv:2002.10957). Between layers, numbers are of type T: float or a narrow one. Eigen
// multiplies matrices in fp32.
#pragma once

#include <lowp/fused_add.hpp>
#include <lowp/nn.hpp>
#include <lowp/safetensors.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../transformer/row_matrix.hpp"

namespace minilm {

using transformers::index, transformers::matrix, transformers::row_matrix;

/// The numbers of the tokens of some sentences, one after the other.
struct sentences {
  std::vector<std::uint32_t> tokens;
  std::vector<std::size_t> sizes;
};

/// Rounds weights, inputs and outputs of layers. Places are names of layers, as in the file.
class rounding {
 public:
  virtual ~rounding() = default;
  /// Rounds the matrix of a layer. A product sums over its rows.
  virtual void weight(matrix&) const {}
  /// Sees or rounds x of a layer y = W x.
  virtual void input(std::string const&, matrix&) {}
  /// Sees y of a layer.
  virtual void output(std::string const&, matrix const&) {}
  /// Returns k: y is stored as 2^-k y, and 2^k times the stored value is added to the residual.
  virtual int exponent(std::string const&) const { return 0; }
  virtual bool has_erf() const { return false; }
};

template <class T>
class encoder {
 public:
  static constexpr std::size_t width = 384, heads = 12, layers = 6;

  /// `file` and `how` outlive the encoder.
  /// @throws std::runtime_error  a tensor is missing
  encoder(lowp::safetensors::file const& file, rounding& how) : file_(file), how_(how) {}

  /// Returns a column for each sentence: the mean of its tokens' last states, of length 1.
  matrix embeddings(sentences const& text) const {
    row_matrix<T> x = embedded(text);
    for (std::size_t i = 0; i < layers; ++i) {
      std::string const name = "encoder.layer." + std::to_string(i) + ".";
      add_and_norm(x, name + "attention.output", attended(name + "attention.self.", x, text));
      row_matrix<T> hidden(dense(name + "intermediate.dense", x));
      if (how_.has_erf())
        for (T& h : hidden.elements) h = T(of_erf(static_cast<double>(h)));
      else
        lowp::gelu_tanh(hidden.elements, hidden.elements);
      add_and_norm(x, name + "output", hidden);
    }
    matrix const last = x.floats();
    matrix means(last.rows(), index(text.sizes.size()));
    for_each_sentence(text, [&](std::size_t i, Eigen::Index first, Eigen::Index size) {
      means.col(index(i)) = last.middleCols(first, size).rowwise().mean().normalized();
    });
    return means;
  }

 private:
  static double of_erf(double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }

  std::vector<float> tensor(std::string const& name) const {
    return file_.read<float>(file_.at(name));
  }
  std::vector<T> narrow(std::string const& name) const {
    std::vector<float> const values = tensor(name);
    std::vector<T> codes(values.size());
    lowp::cast(values, codes);
    return codes;
  }
  template <class Function>
  static void for_each_sentence(sentences const& text, Function const& function) {
    Eigen::Index first = 0;
    for (std::size_t i = 0; i < text.sizes.size(); ++i) {
      function(i, first, index(text.sizes[i]));
      first += index(text.sizes[i]);
    }
  }

  row_matrix<T> embedded(sentences const& text) const {
    std::vector<T> const words = narrow("embeddings.word_embeddings.weight"),
                         places = narrow("embeddings.position_embeddings.weight"),
                         kinds = narrow("embeddings.token_type_embeddings.weight");
    row_matrix<T> x(text.tokens.size(), width);
    for_each_sentence(text, [&](std::size_t, Eigen::Index first, Eigen::Index size) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
        std::size_t const row = static_cast<std::size_t>(first) + i;
        std::span const out = std::span(x.elements).subspan(row * width, width);
        std::span const word = std::span(words).subspan(text.tokens[row] * width, width);
        lowp::cast(word, out);
        lowp::fused_add(out, 1.0f, std::span(kinds).first(width));
        lowp::fused_add(out, 1.0f, std::span(places).subspan(i * width, width));
      }
    });
    norm(x, "embeddings");
    return x;
  }

  void norm(row_matrix<T>& x, std::string const& name) const {
    lowp::layer_norm(x.elements, tensor(name + ".LayerNorm.weight"),
                     tensor(name + ".LayerNorm.bias"), x.elements, width, 1e-12f);
  }
  matrix dense(std::string const& name, row_matrix<T> const& x) const {
    std::vector<float> const bias = tensor(name + ".bias"), values = tensor(name + ".weight");
    matrix w = Eigen::Map<matrix const>(values.data(), index(x.columns), index(bias.size()));
    how_.weight(w);
    w = row_matrix<T>(w).floats();
    matrix in = x.floats();
    how_.input(name, in);
    matrix y = w.transpose() * in;
    y.colwise() += Eigen::Map<Eigen::VectorXf const>(bias.data(), y.rows());
    how_.output(name, y);
    return y;
  }
  void add_and_norm(row_matrix<T>& x, std::string const& name, row_matrix<T> const& branch) const {
    int const k = how_.exponent(name + ".dense");
    row_matrix<T> const y(matrix(std::ldexp(1.0f, -k) * dense(name + ".dense", branch)));
    lowp::fused_add(x.elements, std::ldexp(1.0f, k), y.elements);
    norm(x, name);
  }
  row_matrix<T> attended(std::string const& name, row_matrix<T> const& x,
                         sentences const& text) const {
    // Rounded once to T, as between layers.
    auto const projected = [&](char const* which) {
      return row_matrix<T>(dense(name + which, x)).floats();
    };
    matrix const q = projected("query"), k = projected("key"), v = projected("value");
    constexpr Eigen::Index size = width / heads;
    float const scale = 1 / std::sqrt(static_cast<float>(size));
    matrix mixed(q.rows(), q.cols());
    for_each_sentence(text, [&](std::size_t, Eigen::Index first, Eigen::Index length) {
      for (Eigen::Index row = 0; row < q.rows(); row += size) {
        auto const part = [&](auto& m) { return m.block(row, first, size, length); };
        row_matrix<T> scores(matrix(scale * (part(k).transpose() * part(q))));
        lowp::softmax(scores.elements, scores.elements, static_cast<std::size_t>(length));
        part(mixed).noalias() = part(v) * scores.floats();
      }
    });
    return row_matrix<T>(mixed);
  }

  lowp::safetensors::file const& file_;
  rounding& how_;
};

}  // namespace minilm
