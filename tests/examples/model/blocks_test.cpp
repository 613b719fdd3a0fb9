// SPDX-License-Identifier: Apache-2.0
// Codes with scales of blocks are one tensor, whoever wrote them. Their values are those that the
// oracle's codes have.
#include <cmath>
#include <cstring>

#include "gguf_text.hpp"
#include "tool.hpp"

namespace {

using namespace lowp_test;

constexpr std::size_t rows = 2, columns = 64;

// A tensor of 4-bit codes, and the scales that a converter would write.
struct nvfp4 {
  std::vector<std::uint8_t> codes = std::vector<std::uint8_t>(rows * columns / 2);
  std::vector<lowp::float8_e4m3fn> scales;
  float factor = 0.0123f;

  nvfp4() {
    std::mt19937_64 random(7);
    for (auto& byte : codes) byte = static_cast<std::uint8_t>(random());
    for (std::size_t i = 0; i < rows * columns / 16; ++i)
      scales.push_back(lowp::float8_e4m3fn::from_bits(static_cast<std::uint8_t>(random() % 0x7f)));
  }
  [[nodiscard]] std::uint32_t code(std::size_t i) const { return codes[i / 2] >> i % 2 * 4 & 15; }
  [[nodiscard]] double value(std::size_t i) const {
    return oracle_test::to_double(oracle::decode(oracle::float4_e2m1fn, code(i))) *
           oracle_test::to_double(oracle::decode(oracle::float8_e4m3fn, scales[i / 16].bits())) *
           static_cast<double>(factor);
  }
  [[nodiscard]] std::vector<named_bytes> by_modelopt() const {
    return {of("w.weight", codes, {rows, columns / 2}),
            of("w.weight_scale", scales, {rows, columns / 16}),
            of("w.weight_scale_2", std::vector<float>{factor})};
  }
  [[nodiscard]] std::vector<named_bytes> by_compressed_tensors(float inverse) const {
    return {of("w.weight_packed", codes, {rows, columns / 2}),
            of("w.weight_scale", scales, {rows, columns / 16}),
            of("w.weight_global_scale", std::vector<float>{inverse})};
  }
};

std::vector<float> floats_in(std::string const& path, std::string const& name) {
  st::file const file(path);
  return file.read<float>(file.at(name));
}

class blocks : public model_tool {
 protected:
  std::vector<float> as_floats(std::vector<named_bytes> const& tensors) {
    write(model, tensors);
    said const s = tool({"convert", model, out, "--to", "float32"});
    EXPECT_EQ(s.status, 0) << s.err;
    EXPECT_EQ(st::file(out).tensors().size(), 1U);
    return floats_in(out, st::file(out).tensors()[0].name);
  }
};

TEST_F(blocks, of_modelopt_are_products) {
  nvfp4 const w;
  auto const found = as_floats(w.by_modelopt());
  ASSERT_EQ(found.size(), rows * columns);
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(found[i], static_cast<float>(w.value(i))) << i;
  EXPECT_EQ(st::file(out).at("w.weight").shape, (std::vector<std::uint64_t>{rows, columns}));
}

TEST_F(blocks, of_compressed_tensors_are_quotients) {
  nvfp4 w;
  w.factor = 1;
  auto const found = as_floats(w.by_compressed_tensors(37));
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(found[i], static_cast<float>(w.value(i) / 37)) << i;
}

TEST_F(blocks, of_both_conventions_are_equal_numbers) {
  nvfp4 w;
  w.factor = 0x1p-5f;
  write(model, w.by_modelopt());
  write(out, w.by_compressed_tensors(0x1p5f));
  said const s = tool({"diff", model, out});
  EXPECT_EQ(s.status, 1);
  EXPECT_TRUE(
      has(s.out, "'w.weight': NVFP4 (ModelOpt) and NVFP4 (compressed-tensors): equal numbers\n"));
  EXPECT_EQ(tool({"diff", model, out, "--within", "0"}).status, 0);
  EXPECT_EQ(tool({"diff", model, model}).status, 0);

  // Who reads one as the other finds noise.
  write(out, w.by_compressed_tensors(0x1p-5f));
  EXPECT_TRUE(has(tool({"diff", model, out}).out, "differ, by at most"));
}

TEST_F(blocks, have_distances_in_ulps_of_their_own_scale) {
  nvfp4 w;
  w.factor = 1;
  for (auto& scale : w.scales) scale = lowp::float8_e4m3fn(1.0f);
  w.scales[0] = lowp::float8_e4m3fn(64.0f);
  w.codes[0] = 0x22;  // one and one
  std::vector<float> values(rows * columns);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(w.value(i));
  values[1] += 16;  // half of a step, which is 0.5 * 64
  write(model, w.by_modelopt());
  write(out, {of("w.weight", values, {rows, columns})});
  EXPECT_TRUE(has(tool({"diff", model, out}).out,
                  "1 of 128 differ, by at most 0.5 ulps of F4 at [0, 1] (64 and 80)"));
}

TEST_F(blocks, of_powers_of_two_are_known_by_every_name) {
  std::vector<std::uint8_t> codes(rows * columns / 2), bytes(rows * columns / 32);
  std::vector<lowp::float8_e8m0fnu> scales;
  std::mt19937_64 random(8);
  for (auto& byte : codes) byte = static_cast<std::uint8_t>(random());
  for (auto& byte : bytes) {
    byte = static_cast<std::uint8_t>(100 + random() % 50);
    scales.push_back(lowp::float8_e8m0fnu::from_bits(byte));
  }
  std::vector<std::int8_t> signed_codes(codes.size());
  std::memcpy(signed_codes.data(), codes.data(), codes.size());
  std::vector<std::uint64_t> const by_codes{rows, columns / 2}, by_scales{rows, columns / 32};
  named_bytes plain = of("w", codes, {rows, columns / 2});
  plain.type = st::dtype::f4_e2m1;
  plain.shape = {rows, columns};
  for (auto const& tensors :
       {std::vector{of("w_blocks", codes, {rows, columns / 32, 16}),
                    of("w_scales", bytes, by_scales)},
        std::vector{of("w_packed", codes, by_codes), of("w_scale", bytes, by_scales)},
        std::vector{of("w.weight", signed_codes, by_codes), of("w.scale", scales, by_scales)},
        std::vector{plain, of("w_scale", scales, by_scales)}}) {
    SCOPED_TRACE(tensors[0].name);
    auto const found = as_floats(tensors);
    ASSERT_EQ(found.size(), rows * columns);
    for (std::size_t i = 0; i < found.size(); ++i) {
      std::uint32_t const code = codes[i / 2] >> i % 2 * 4 & 15;
      double const value = oracle_test::to_double(oracle::decode(oracle::float4_e2m1fn, code));
      ASSERT_EQ(found[i], static_cast<float>(std::ldexp(value, bytes[i / 32] - 127))) << i;
    }
    EXPECT_TRUE(has(tool({"audit", model, "--to", "bfloat16"}).out, "MXFP4"));
  }
}

TEST_F(blocks, that_are_kept_stay_as_they_are) {
  nvfp4 const w;
  auto tensors = w.by_modelopt();
  tensors.push_back(of("norm", std::vector<float>{1, 2}));
  write(model, tensors);
  ASSERT_EQ(tool({"convert", model, out, "--to", "bfloat16", "--keep", "w.weight"}).status, 0);
  st::file const before(model), after(out);
  for (char const* name : {"w.weight", "w.weight_scale", "w.weight_scale_2"}) {
    st::tensor const &a = before.at(name), &b = after.at(name);
    std::vector<std::byte> x(a.end - a.begin), y(b.end - b.begin);
    before.read_bytes(a, 0, x);
    after.read_bytes(b, 0, y);
    EXPECT_EQ(x, y) << name;
    EXPECT_EQ(a.shape, b.shape) << name;
  }
  EXPECT_EQ(after.at("norm").type, st::dtype::bf16);
}

TEST_F(blocks, that_fit_no_convention_are_refused_by_name) {
  nvfp4 const w;
  auto const refused = [&](std::vector<named_bytes> const& tensors) {
    write(model, tensors);
    return refusal({"audit", model, "--to", "bfloat16"});
  };
  auto tensors = w.by_modelopt();
  tensors.push_back(of("w.weight_global_scale", std::vector<float>{1}));
  EXPECT_TRUE(has(refused(tensors),
                  "tensor 'w.weight' U8 [2, 32] has scales of blocks, 'w.weight_scale' F8_E4M3 "
                  "[2, 4], and both of w.weight_scale_2 (a factor) and w.weight_global_scale"));
  tensors = w.by_modelopt();
  tensors.pop_back();
  EXPECT_TRUE(has(refused(tensors), "and neither of w.weight_scale_2 (a factor)"));
  tensors.push_back(of("w.weight_scale_2", std::vector<float>{1, 1, 1}));
  EXPECT_TRUE(
      has(refused(tensors),
          "'w.weight' U8 [2, 32] is 'w.weight_scale_2' F32 [3], neither one F32 nor one for "
          "each of its outermost extents"));
  tensors.back() = of("w.weight_scale_2", std::vector<float>{-1});
  EXPECT_TRUE(has(refused(tensors), "in 'w.weight_scale_2', is -1"));
  tensors = w.by_modelopt();
  tensors[1].shape = {rows * columns / 16};
  EXPECT_TRUE(has(refused(tensors), "'w.weight_scale' F8_E4M3 [8]: that is not one for every 16"));
  tensors[1].shape = {columns / 16, rows};
  EXPECT_TRUE(has(refused(tensors), "'w.weight_scale' F8_E4M3 [4, 2]: that is not one for every"));
  tensors = w.by_compressed_tensors(1);
  tensors.push_back(of("w.weight", std::vector<float>{1}));
  EXPECT_TRUE(has(refused(tensors), "tensor 'w.weight' is there by itself and as NVFP4"));
}

// Blocks of ggml: scales first, and element j of a scale beside the one half of them further.
struct ggml_blocks {
  std::string bytes;
  std::vector<float> values;

  ggml_blocks(std::size_t count, std::size_t scales, bool is_nvfp4, double factor = 1) {
    std::mt19937_64 random(9);
    for (std::size_t k = 0; k < count; ++k) {
      std::vector<double> steps(scales);
      for (double& step : steps) {
        auto const code = static_cast<std::uint8_t>(random() % (is_nvfp4 ? 0x80 : 0xfb));
        bytes += static_cast<char>(code);
        auto const& format = is_nvfp4 ? oracle::float8_e4m3fn : oracle::float8_e8m0fnu;
        step = is_nvfp4 && code == 0x7f ? 0 : oracle_test::to_double(oracle::decode(format, code));
      }
      std::size_t const per_scale = is_nvfp4 ? 16 : 32;
      for (double const step : steps) {
        std::vector<std::uint32_t> codes(per_scale);
        for (auto& code : codes) code = random() % 16;
        for (std::size_t j = 0; j < per_scale / 2; ++j)
          bytes += static_cast<char>(codes[j] | codes[j + per_scale / 2] << 4);
        for (std::uint32_t const code : codes)
          values.push_back(static_cast<float>(
              oracle_test::to_double(oracle::decode(oracle::float4_e2m1fn, code)) * step * factor));
      }
    }
  }
};

// DeepSeek's: one for each 128 x 128 codes, fewer at the ends. A piece of the file ends in a row.
TEST_F(blocks, of_squares_are_known) {
  constexpr std::size_t matrices = 2, height = 300, width = 500, down = 3, across = 4;
  std::vector<lowp::float8_e4m3fn> codes;
  std::vector<lowp::float8_e8m0fnu> scales;
  std::mt19937_64 random(10);
  for (std::size_t i = 0; i < matrices * height * width; ++i)
    codes.push_back(lowp::float8_e4m3fn::from_bits(static_cast<std::uint8_t>(random() % 0x7f)));
  for (std::size_t i = 0; i < matrices * down * across; ++i)
    scales.push_back(
        lowp::float8_e8m0fnu::from_bits(static_cast<std::uint8_t>(100 + random() % 50)));
  auto const found = as_floats({of("w.weight", codes, {matrices, height, width}),
                                of("w.scale", scales, {matrices, down, across})});
  ASSERT_EQ(found.size(), codes.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::size_t const row = i / width % height, column = i % width, matrix = i / width / height;
    int const exponent = scales[(matrix * down + row / 128) * across + column / 128].bits() - 127;
    double const code =
        oracle_test::to_double(oracle::decode(oracle::float8_e4m3fn, codes[i].bits()));
    ASSERT_EQ(found[i], static_cast<float>(std::ldexp(code, exponent))) << i;
  }
  EXPECT_TRUE(
      has(tool({"audit", model, "--to", "bfloat16"}).out, "F8_E4M3 in blocks of 128 x 128"));
  EXPECT_EQ(tool({"diff", model, out, "--within", "0"}).status, 0);
  write(model, {of("w.weight", codes, {matrices, height, width}),
                of("w.scale", scales, {matrices, across, down})});
  EXPECT_TRUE(has(refusal({"audit", model, "--to", "bfloat16"}),
                  "not one for every 32 values, nor for every 128 x 128"));
}

TEST_F(blocks, may_have_a_factor_for_each_expert) {
  ggml_blocks const w(2 * 3, 4, true);
  std::vector<float> const factors{0.5f, 0.0123f};
  std::string const bytes(reinterpret_cast<char const*>(factors.data()), 2 * sizeof(float));
  set_contents(model, gguf_of({{"blk.0.up_exps.weight", {64, 3, 2}, 40, w.bytes},
                               {"blk.0.up_exps.scale", {2}, 0, bytes}}));
  ASSERT_EQ(tool({"convert", model, out, "--to", "float32"}).status, 0);
  auto const found = floats_in(out, "blk.0.up_exps.weight");
  ASSERT_EQ(found.size(), w.values.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(found[i], static_cast<float>(static_cast<double>(w.values[i]) *
                                           static_cast<double>(factors[i / (3 * 64)])));
}

TEST_F(blocks, without_elements_are_tensors) {
  std::vector<std::uint8_t> const none;
  named_bytes codes = of("w_packed", none), scales = of("w_scale", none);
  codes.shape = {4, 0};
  scales.shape = {4, 0};
  write(model, {codes, scales});
  EXPECT_EQ(tool({"audit", model, "--to", "bfloat16"}).status, 0);
}

// Scales of DeepSeek V3, ComfyUI and diffusers: values are read without them, and a note says so.
TEST_F(blocks, of_other_scales_are_named) {
  std::vector<lowp::float8_e4m3fn> const codes(4, lowp::float8_e4m3fn(448.0f));
  for (char const* scale : {"a.weight_scale_inv", "a.weight_scale", "a.scale_weight", "a.scale"}) {
    write(model, {of("a.weight", codes, {2, 2}), of(scale, std::vector<float>{0.001f})});
    EXPECT_TRUE(has(tool({"audit", model, "--to", "bfloat16"}).err,
                    "note: nothing applies the scales that lie beside a.weight\n"))
        << scale;
  }
  write(model, {of("a.weight", codes, {2, 2}), of("a.bias", std::vector<float>{1})});
  EXPECT_EQ(tool({"audit", model, "--to", "bfloat16"}).err, "");
}

TEST_F(blocks, are_not_guessed_from_integers) {
  std::vector<std::uint8_t> const codes(64);
  write(model, {of("w.weight", codes, {2, 32}), of("w.weight_scale", std::vector<float>{1, 2})});
  EXPECT_TRUE(has(tool({"audit", model, "--to", "bfloat16"}).out, "as they are: w.weight\n"));
}

TEST_F(blocks, of_ggml_are_read) {
  ggml_blocks const mx(6, 1, false), nv(6, 4, true, 0.0123f), bare(4, 4, true);
  float const factor = 0.0123f;
  std::string const factor_bytes(reinterpret_cast<char const*>(&factor), sizeof(factor));
  set_contents(model, gguf_of({{"blk.0.up.weight", {64, 3}, 39, mx.bytes},
                               {"blk.0.down.weight", {128, 3}, 40, nv.bytes},
                               {"blk.0.down.scale", {1}, 0, factor_bytes},
                               {"bare.weight", {256}, 40, bare.bytes},
                               {"old.weight", {32}, 2, std::string(18, '\1')}}));
  said const s = tool({"convert", model, out, "--to", "float32"});
  ASSERT_EQ(s.status, 0) << s.err;
  st::file const file(out);
  EXPECT_EQ(file.at("blk.0.down.weight").shape, (std::vector<std::uint64_t>{3, 128}));
  EXPECT_TRUE(floats_in(out, "blk.0.up.weight") == mx.values);
  EXPECT_TRUE(floats_in(out, "blk.0.down.weight") == nv.values);
  EXPECT_TRUE(floats_in(out, "bare.weight") == bare.values);
  EXPECT_EQ(file.at("old.weight").type, st::dtype::u8);
  EXPECT_EQ(file.tensors().size(), 4U);
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"general.alignment", "64"},
                                                                 {"general.architecture", "llama"},
                                                                 {"some.rate", "0.5"}}));
  EXPECT_EQ(tool({"diff", model, out, "--within", "0.001"}).status, 0);
  // Kept, they are a file of safetensors, of the same values.
  std::string const kept = folder.file("kept");
  ASSERT_EQ(tool({"convert", model, kept, "--to", "bfloat16", "--keep", "."}).status, 0);
  EXPECT_EQ(st::file(kept).at("bare.weight_scale_2").type, st::dtype::f32);
  EXPECT_EQ(tool({"diff", model, kept}).status, 0);
  EXPECT_EQ(tool({"diff", kept, out, "--within", "0.001"}).status, 0);
}

// Other types keep their bytes: those of their blocks, without what lies between tensors.
TEST_F(blocks, of_other_types_end_where_their_elements_do) {
  std::string const one(34, '\1'), two(68, '\2');
  set_contents(model, gguf_of({{"a", {32}, 8, one}, {"b", {64}, 8, two}}));
  set_contents(out, gguf_of({{"b", {64}, 8, two}, {"a", {32}, 8, one}}) + "more");
  EXPECT_EQ(tool({"diff", model, out}).status, 0);
  std::string const kept = folder.file("kept");
  ASSERT_EQ(tool({"convert", out, kept, "--to", "bfloat16"}).status, 0);
  EXPECT_EQ(st::file(kept).at("a").shape, std::vector<std::uint64_t>{34});
}

TEST_F(blocks, beside_arrays_of_arrays_are_read) {
  gguf_text file;
  file.start(0, 2).name("k").number(9u).number(9u).number<std::uint64_t>(2);
  for (int i = 0; i < 2; ++i) file.number(0u).number<std::uint64_t>(3).text += "abc";
  file.name("last").number(10u).number<std::uint64_t>(7);
  set_contents(model, file.text);
  ASSERT_EQ(tool({"convert", model, out, "--to", "bfloat16"}).status, 0);
  EXPECT_EQ(st::file(out).metadata().at("last"), "7");
  // Arrays in arrays, deeper than anybody writes.
  gguf_text deep;
  deep.start(0, 1).name("k").number(9u);
  for (int i = 0; i < 100000; ++i) deep.number(9u).number<std::uint64_t>(1);
  set_contents(model, deep.text);
  EXPECT_TRUE(
      has(refusal({"audit", model, "--to", "bfloat16"}), "is an array of 1 values of type 9"));
}

TEST_F(blocks, of_ggml_that_do_not_fit_are_refused) {
  auto const refused = [&](std::string const& bytes) {
    set_contents(model, bytes);
    return refusal({"audit", model, "--to", "bfloat16"});
  };
  gguf_tensor const w{"w", {32}, 39, std::string(17, '\1')};
  EXPECT_TRUE(has(refused(gguf_text().start(0, 0, 1).text), "it is GGUF of version 1"));
  EXPECT_TRUE(has(refused(gguf_text().start(1, 0).text),
                  "a tensor's name would need 8 bytes, and the file has 0 more"));
  EXPECT_TRUE(has(refused(gguf_text().start(0, 1).name("k").number(13u).text),
                  "value 'k' has type 13: there are 0 to 12"));
  EXPECT_TRUE(
      has(refused(gguf_text().start(0, 1).name("k").number(9u).number(9u).number(~0ull).text),
          "value 'k' would need 4 bytes, and the file has 0 more"));
  EXPECT_TRUE(
      has(refused(gguf_text().start(0, 1).name("general.alignment").number(4u).number(24u).text),
          "general.alignment is '24', not a power of two"));
  EXPECT_TRUE(has(
      refused(gguf_text().start(0, 1).name("general.alignment").number(8u).name("32 bytes").text),
      "value 'general.alignment' has type 8, not an integer's"));
  EXPECT_TRUE(has(refused(gguf_text()
                              .start(0, 2)
                              .name("general.alignment")
                              .number(4u)
                              .number(32u)
                              .name("general.alignment")
                              .number(4u)
                              .number(64u)
                              .text),
                  "value 'general.alignment' is there twice"));
  EXPECT_TRUE(has(refused(gguf_text().start(1, 0).info(w, 8).text),
                  "tensor 'w' begins at 8, not at a multiple of 32"));
  EXPECT_TRUE(has(refused(gguf_text().start(1, 0).info(w, 0).text), "it ends with its header"));
  EXPECT_TRUE(has(refused(gguf_text().start(1, 0).info(w, ~0ull - 31).pad(32).text),
                  "tensor 'w' begins at 18446744073709551584 of 0 bytes of data"));
  EXPECT_TRUE(has(refused(gguf_of({{"w", {32, 2}, 39, std::string(17, '\1')}})),
                  "tensor 'w' has 17 bytes in the file, too few for its extents 2 x 32"));
  EXPECT_TRUE(has(refused(gguf_of({{"w", {48}, 39, std::string(34, '\1')}})),
                  "tensor 'w' has rows of 48 values, no whole blocks of 32"));
  EXPECT_TRUE(has(refused(gguf_of({{"w", {1, 1, 1, 1, 1}, 0, std::string(4, '\1')}})),
                  "tensor 'w' has 5 extents, and may have 4"));
  EXPECT_TRUE(has(refused(gguf_of({{"w", {1ull << 40, 1ull << 40}, 0, std::string(4, '\1')}})),
                  "too few for its extents 1099511627776 x 1099511627776"));
  EXPECT_TRUE(has(refused(gguf_of({{"w", {64}, 40, std::string(36, '\1')},
                                   {"w.scale", {2}, 0, std::string(8, '\1')}})),
                  "is 'w_scale_2' F32 [2], neither one F32 nor"));
  // A block more than the file has.
  EXPECT_TRUE(has(refused(gguf_of({{"w", {64}, 8, std::string(67, '\1')}})),
                  "tensor 'w' has 67 bytes in the file, too few for its extents 64"));
  EXPECT_TRUE(has(refused(gguf_of({{"w", {48}, 8, std::string(68, '\1')}})),
                  "tensor 'w' has rows of 48 values, no whole blocks of 32"));
}

// ModelOpt's factor of zeros is 0, and its scales are then NaN. Here the tensor stays as it is.
TEST_F(blocks, of_zeros_and_of_tiny_values_are_read_again) {
  for (float const value : {0.0f, 1e-36f}) {
    write(model, {of("w", std::vector<float>(64, value), {2, 32})});
    for (char const* to :
         {"nvfp4_modelopt", "nvfp4_compressed_tensors", "mxfp4_compressed_tensors"}) {
      SCOPED_TRACE(to);
      ASSERT_EQ(tool({"convert", model, out, "--to", to}).status, 0);
      said const s = tool({"diff", model, out, "--within", "0.5"});
      EXPECT_EQ(s.status, 0) << s.out << s.err;
    }
  }
  nvfp4 zeros;
  zeros.factor = 0;
  write(model, zeros.by_modelopt());
  EXPECT_EQ(tool({"audit", model, "--to", "bfloat16"}).status, 0);
}

TEST_F(blocks, of_infinities_are_refused) {
  std::vector<float> values(64, 1);
  values[3] = std::numeric_limits<float>::infinity();
  write(model, {of("w", values, {2, 32})});
  for (char const* to : {"nvfp4_modelopt", "nvfp4_compressed_tensors"})
    EXPECT_TRUE(has(refusal({"convert", model, out, "--to", to}),
                    std::string("tensor 'w' has 1 value infinite: ") + to));
  said const s = tool({"convert", model, out, "--to", "mxfp4_compressed_tensors"});
  EXPECT_TRUE(has(s.out + s.err, "infinities and NaN that the format lacks: 1"));
}

// A file has the names of other tools, and reads back at most half a step away.
TEST_F(blocks, are_written_by_each_convention) {
  std::vector<float> values(8 * 64);
  std::mt19937_64 random(11);
  std::normal_distribution<float> normal;
  for (float& x : values) x = normal(random);
  write(model, {of("norm", std::vector<float>(7, 1.5f)), of("w.weight", values, {8, 64})});
  struct convention {
    std::string to;
    std::vector<std::string> names;
    std::string found;
  };
  for (auto const& [to, names, found] : std::vector<convention>{
           {"nvfp4_modelopt",
            {"w.weight", "w.weight_scale", "w.weight_scale_2"},
            "NVFP4 (ModelOpt)"},
           {"nvfp4_compressed_tensors",
            {"w.weight_packed", "w.weight_scale", "w.weight_global_scale"},
            "NVFP4 (compressed-tensors)"},
           {"mxfp4_compressed_tensors", {"w.weight_packed", "w.weight_scale"}, "MXFP4"}}) {
    SCOPED_TRACE(to);
    said const s = tool({"convert", model, out, "--to", to});
    ASSERT_EQ(s.status, 0) << s.err;
    EXPECT_TRUE(has(s.out, "1 tensor converted to " + to + ", 0 of them with a scale, 1 copied"));
    st::file const file(out);
    EXPECT_EQ(file.tensors().size(), names.size() + 1);
    for (std::string const& name : names) EXPECT_NE(file.find(name), nullptr) << name;
    EXPECT_EQ(file.at("norm").type, st::dtype::f32);

    said const d = tool({"diff", model, out});
    EXPECT_TRUE(has(d.out, "'w.weight': F32 and " + found + ": "));
    EXPECT_EQ(tool({"diff", model, out, "--within", to[0] == 'm' ? "1.01" : "0.56"}).status, 0)
        << d.out;
    EXPECT_EQ(tool({"diff", model, out, "--within", "0.4"}).status, 1);

    // With random bits, twice the distance and the same bits again.
    std::vector<std::string> const again{"convert",    model,        out,      "--to", to,
                                         "--rounding", "stochastic", "--seed", "5"};
    ASSERT_EQ(tool(again).status, 0);
    std::string const first = contents(out);
    EXPECT_EQ(tool({"diff", model, out, "--within", "0.56"}).status, 1);
    ASSERT_EQ(tool(again).status, 0);
    EXPECT_TRUE(first == contents(out));
  }
}

TEST_F(blocks, of_a_target_have_figures) {
  std::vector<float> values(4 * 16, 1.0f);
  for (std::size_t i = 16; i < 32; ++i) values[i] = 0;  // a block of zeros
  values[32] = 1e-6f;                                   // zero beside the others
  values[48] = std::numeric_limits<float>::infinity();
  write(model, {of("w", values, {4, 16})});
  said const s = tool({"audit", model, "--to", "mxfp4_compressed_tensors"});
  EXPECT_TRUE(has(s.out, "as they are: w\n")) << "rows of 16 are no blocks of 32";
  std::string const json = folder.file("json");
  said const a = tool({"audit", model, "--to", "nvfp4_modelopt", "--json", json});
  EXPECT_TRUE(has(a.out, "4 blocks of 16: 1 of zeros, 1 with an infinity or NaN,"));
  auto const found = nlohmann::json::parse(contents(json));
  EXPECT_EQ(found["blocks"]["zero_blocks"], 1);
  EXPECT_EQ(found["tensors"][0]["blocks"]["nonfinite_blocks"], 1);
  EXPECT_EQ(found["tensors"][0]["as_it_is"]["infinite"], 1);
  EXPECT_TRUE(has(refusal({"audit", model, "--to", "nvfp4_modelopt", "--scale", "tensor"}),
                  "has scales of blocks"));
  EXPECT_TRUE(
      has(refusal({"convert", model, out, "--to", "nvfp4_modelopt", "--overflow", "saturate"}),
          "saturates"));
}

TEST_F(blocks, of_formats_below_a_byte_fill_bytes) {
  write(model, {of("w", std::vector<float>{1, 2, 3})});
  EXPECT_TRUE(has(refusal({"convert", model, out, "--to", "float4_e2m1fn"}),
                  "tensor 'w' has 3 values, in F4 no whole number of bytes: --keep it"));
}

}  // namespace
