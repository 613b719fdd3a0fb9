// SPDX-License-Identifier: Apache-2.0
// Runs MiniLM once for each way of rounding, and writes how far its embeddings are from PyTorch's
// in fp32. Before that it runs once over other sentences, and writes what scales that suggests.
#include <lowp/cast.hpp>
#include <lowp/update.hpp>

#include <fmt/core.h>
#include <fmt/os.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <lowp/nn.hpp>

#include "encoder.hpp"

namespace {

using namespace minilm;
using lowp::bfloat16, lowp::float16, lowp::float8_e4m3fn;

struct settings {
  std::string weights, calibration, held_out, embeddings, scales, csv;
};

std::span<float> elements(matrix& m) { return {m.data(), static_cast<std::size_t>(m.size())}; }

template <class F>
void round_to(std::span<float> x, float scale) {
  std::vector<F> codes(x.size());
  lowp::scaled_cast(x, codes, scale, lowp::nearest_even{}, lowp::overflow::saturate);
  lowp::scaled_cast(codes, x, 1 / scale);
}

/// Largest magnitudes of a layer's input and output.
struct range {
  lowp::amax input, output;
};
using ranges = std::map<std::string, range>;

class calibration final : public rounding {
 public:
  ranges seen;

  void input(std::string const& place, matrix& x) override { see(seen[place].input, x); }
  void output(std::string const& place, matrix const& y) override { see(seen[place].output, y); }

 private:
  static void see(lowp::amax& largest, matrix const& m) {
    largest += lowp::measure(std::span(m.data(), static_cast<std::size_t>(m.size()))).largest;
  }
};

// Writes a line for each layer: what a program needs in order to compute without an overflow.
ranges calibrate(settings const& s, lowp::safetensors::file const& file, sentences const& text) {
  calibration seen;
  encoder<float>(file, seen).embeddings(text);
  auto out = fmt::output_file(s.scales);
  out.print("layer,largest_input,largest_output,fp16_exponent,e4m3_scale\n");
  for (auto const& [place, of] : seen.seen)
    out.print("{},{},{},{},{}\n", place, of.input.value(), of.output.value(),
              lowp::projection_exponent<float16>(of.output),
              lowp::power_of_two_scale<float8_e4m3fn>(of.input, 1));
  return seen.seen;
}

class exact final : public rounding {
 public:
  bool has_erf() const override { return true; }
};

class by_exponents final : public rounding {
 public:
  explicit by_exponents(ranges const& of) : of_(of) {}
  int exponent(std::string const& place) const override {
    return lowp::projection_exponent<float16>(of_.at(place).output);
  }

 private:
  ranges const& of_;
};

enum class scaling { none, calibrated };

// Weights in fp8 with a scale of their own; inputs of products too, if there are ranges for them.
class in_fp8 final : public rounding {
 public:
  in_fp8() = default;
  in_fp8(ranges const& of, scaling how) : of_(&of), how_(how) {}

  void weight(matrix& w) const override {
    std::span const x = elements(w);
    round_to<float8_e4m3fn>(x, lowp::power_of_two_scale<float8_e4m3fn>(lowp::measure(x).largest));
  }
  void input(std::string const& place, matrix& x) override {
    if (of_ == nullptr) return;
    lowp::amax const largest = of_->at(place).input;
    round_to<float8_e4m3fn>(elements(x), how_ == scaling::none
                                             ? 1
                                             : lowp::power_of_two_scale<float8_e4m3fn>(largest, 1));
  }

 private:
  ranges const* of_ = nullptr;
  scaling how_ = scaling::none;
};

// Blocks of weights, as in bench/transformer.
class in_blocks final : public rounding {
 public:
  explicit in_blocks(std::string_view name) {
    for (transformers::product_format const& f : transformers::product_formats())
      if (f.name == name) blocks_ = f.make();
  }
  void weight(matrix& w) const override { blocks_->round(transformers::operand::weight, {}, w); }

 private:
  std::unique_ptr<transformers::operand_rounding> blocks_;
};

struct way_to_compute {
  std::string name, text;
  std::unique_ptr<rounding> how;
  matrix (*run)(lowp::safetensors::file const&, rounding&, sentences const&);
};

template <class T>
matrix run(lowp::safetensors::file const& file, rounding& how, sentences const& text) {
  return encoder<T>(file, how).embeddings(text);
}

std::vector<way_to_compute> ways(ranges const& of) {
  std::vector<way_to_compute> all;
  auto const add = [&](char const* name, char const* text, std::unique_ptr<rounding> how,
                       auto const& function) {
    all.push_back({name, text, std::move(how), function});
  };
  auto const nothing = [] { return std::make_unique<rounding>(); };
  add("erf", "fp32, GELU by erf", std::make_unique<exact>(), run<float>);
  add("fp32", "fp32", nothing(), run<float>);
  add("fp16", "fp16, no scale", nothing(), run<float16>);
  add("fp16-scaled", "fp16, calibrated exponents", std::make_unique<by_exponents>(of),
      run<float16>);
  add("bf16", "bf16", nothing(), run<bfloat16>);
  add("fp8", "fp8 weights (e4m3, a scale each)", std::make_unique<in_fp8>(), run<float>);
  add("fp8-bf16", "fp8 weights, bf16 between layers", std::make_unique<in_fp8>(), run<bfloat16>);
  add("fp8-inputs", "fp8 weights and inputs of products, inputs without a scale",
      std::make_unique<in_fp8>(of, scaling::none), run<bfloat16>);
  add("fp8-inputs-scaled", "fp8 weights and inputs of products, calibrated scales",
      std::make_unique<in_fp8>(of, scaling::calibrated), run<bfloat16>);
  add("mxfp8", "MXFP8 weights", std::make_unique<in_blocks>("mxfp8"), run<bfloat16>);
  add("nvfp4", "NVFP4 weights, tiles of 16 x 16", std::make_unique<in_blocks>("nvfp4"),
      run<bfloat16>);
  add("mxfp4", "MXFP4 weights", std::make_unique<in_blocks>("mxfp4"), run<bfloat16>);
  return all;
}

/// Differences of embeddings from those of the reference.
struct distance {
  double mean = 0, least = 1;  ///< cosines between the two embeddings of a sentence
  double largest_shift = 0;    ///< of the cosine between two sentences
  double neighbours = 0;       ///< share of sentences whose nearest other sentence is the same
};

distance between(matrix const& ours, matrix const& reference) {
  distance d;
  Eigen::MatrixXd const a = ours.cast<double>().colwise().normalized(),
                        b = reference.cast<double>().colwise().normalized();
  Eigen::VectorXd const cosines = a.cwiseProduct(b).colwise().sum();
  d.mean = cosines.mean();
  d.least = cosines.minCoeff();
  Eigen::MatrixXd of_a = a.transpose() * a, of_b = b.transpose() * b;
  d.largest_shift = (of_a - of_b).cwiseAbs().maxCoeff();
  of_a.diagonal().setConstant(-2);
  of_b.diagonal().setConstant(-2);
  for (Eigen::Index i = 0; i < a.cols(); ++i) {
    Eigen::Index near_a, near_b;
    of_a.col(i).maxCoeff(&near_a);
    of_b.col(i).maxCoeff(&near_b);
    d.neighbours += near_a == near_b;
  }
  d.neighbours /= static_cast<double>(a.cols());
  return d;
}

sentences read_tokens(std::string const& path) {
  std::ifstream file(path);
  sentences text;
  for (std::string line; std::getline(file, line);) {
    std::size_t const before = text.tokens.size();
    std::istringstream numbers(line);
    for (std::uint32_t token; numbers >> token;) text.tokens.push_back(token);
    text.sizes.push_back(text.tokens.size() - before);
  }
  if (text.sizes.empty()) throw std::runtime_error("there are no sentences in '" + path + "'");
  return text;
}

matrix read_embeddings(std::string const& path, std::size_t count) {
  matrix m(index(encoder<float>::width), index(count));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(m.data()),
            static_cast<std::streamsize>(m.size() * sizeof(float)));
  if (!file || file.peek() != EOF)
    throw std::runtime_error(
        fmt::format("'{}' has not {} embeddings of {} floats", path, count, encoder<float>::width));
  return m;
}

void compare(settings const& s) {
  lowp::safetensors::file const file(s.weights);
  ranges const of = calibrate(s, file, read_tokens(s.calibration));
  sentences const text = read_tokens(s.held_out);
  matrix const reference = read_embeddings(s.embeddings, text.sizes.size());
  auto out = fmt::output_file(s.csv);
  out.print("way,text,sentences,lost,least_similarity,largest_shift,neighbours\n");
  for (way_to_compute const& w : ways(of)) {
    distance const d = between(w.run(file, *w.how, text), reference);
    out.print("{},\"{}\",{},{:.3g},{:.6f},{:.3g},{:.6f}\n", w.name, w.text, text.sizes.size(),
              1 - d.mean, d.least, d.largest_shift, d.neighbours);
    fmt::print("{:<18} 1 - cosine {:.3g}\n", w.name, 1 - d.mean);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  settings s;
  CLI::App app("Runs MiniLM once for each way of rounding.");
  app.add_option("--weights", s.weights, "safetensors")->required();
  app.add_option("--calibration", s.calibration, "tokens, one sentence a line")->required();
  app.add_option("--held-out", s.held_out, "tokens of other sentences")->required();
  app.add_option("--embeddings", s.embeddings, "PyTorch's of these, floats")->required();
  app.add_option("--scales", s.scales, "file to write: one line a layer")->required();
  app.add_option("--csv", s.csv, "file to write: one line a way")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    compare(s);
  } catch (std::exception const& error) {
    fmt::print(stderr, "model: {}\n", error.what());
    return 1;
  }
}
