// SPDX-License-Identifier: Apache-2.0
// A converted file has the oracle's codes, the scales among its metadata, and everything else as it
// was. It is there whole or not at all.
#include <lowp/checkpoint.hpp>

#include <sys/stat.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>

#include "oracle/philox.hpp"
#include "tool.hpp"

namespace {

using namespace lowp_test;

// A format and its name in a file.
struct stored_format {
  oracle::facts const& facts;
  st::dtype type;
};
std::vector<stored_format> const stored_formats{{oracle::float16, st::dtype::f16},
                                                {oracle::bfloat16, st::dtype::bf16},
                                                {oracle::float8_e4m3fn, st::dtype::f8_e4m3},
                                                {oracle::float8_e5m2, st::dtype::f8_e5m2},
                                                {oracle::float8_e4m3fnuz, st::dtype::f8_e4m3fnuz},
                                                {oracle::float8_e5m2fnuz, st::dtype::f8_e5m2fnuz},
                                                {oracle::float6_e2m3fn, st::dtype::f6_e2m3},
                                                {oracle::float6_e3m2fn, st::dtype::f6_e3m2},
                                                {oracle::float4_e2m1fn, st::dtype::f4_e2m1}};

std::vector<std::byte> bytes_in(std::string const& path, std::string const& name) {
  st::file const file(path);
  st::tensor const& t = file.at(name);
  std::vector<std::byte> bytes(static_cast<std::size_t>(t.end - t.begin));
  file.read_bytes(t, 0, bytes);
  return bytes;
}

// Reads a tensor of a type of 4 to 16 bits: the first element has the lowest ones.
std::vector<std::uint32_t> codes_in(std::string const& path, std::string const& name) {
  std::size_t const width = bits_of(st::file(path).at(name).type);
  std::vector<std::byte> bytes = bytes_in(path, name);
  std::vector<std::uint32_t> codes(bytes.size() * 8 / width);
  bytes.resize(bytes.size() + 1);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    std::uint16_t word = 0;
    std::memcpy(&word, &bytes[i * width / 8], sizeof word);
    codes[i] = word >> i * width % 8 & ((1U << width) - 1);
  }
  return codes;
}

struct way {
  std::vector<std::string> options;
  oracle::mode mode;
  std::optional<oracle::policy> policy;
  std::uint64_t seed;
  oracle::generator by = oracle::generator::philox;
};

template <class T>
std::vector<std::uint32_t> expected(oracle::facts const& to, std::vector<T> const& values,
                                    way const& how, std::uint32_t tensor) {
  std::vector<std::uint32_t> codes;
  for (std::size_t i = 0; i < values.size(); ++i)
    codes.push_back(oracle::encode(
        to, oracle::from(values[i]), how.mode, how.policy.value_or(oracle::default_policy(to)),
        oracle::random16(how.seed, oracle::stream_of(tensor, 0), i, 0, how.by)));
  return codes;
}

class convert : public model_tool {};

TEST_F(convert, rounds_as_the_oracle_does) {
  // More than a piece. NaN has tests of its own: here its payload would be in the way.
  std::vector<float> floats = patterns(270'000, 2);
  std::erase_if(floats, [](float x) { return std::isnan(x); });
  floats.resize(floats.size() / 8 * 8);  // whole bytes of 4 and 6 bits
  std::vector<double> doubles;
  for (float const x : patterns(3000, 3))
    if (!std::isnan(x))
      doubles.insert(doubles.end(), {x, x * (1 + 0x1p-40), x * (1 - 0x1p-40), x * 1e30});
  write(model, {of("a.doubles", doubles), of("b.floats", floats)});
  std::vector<way> const ways{
      {{}, oracle::mode::nearest_even, {}, 1},
      {{"--rounding", "stochastic", "--seed", "18446744073709551615"},
       oracle::mode::stochastic,
       {},
       ~std::uint64_t{0}},
      {{"--rounding", "stochastic", "--seed", "010"}, oracle::mode::stochastic, {}, 10},
      {{"--rounding", "stochastic_fast"},
       oracle::mode::stochastic,
       {},
       1,
       oracle::generator::keyed},
      {{"--overflow", "saturate"}, oracle::mode::nearest_even, oracle::policy::saturate, 1},
      {{"--overflow", "infinity"}, oracle::mode::nearest_even, oracle::policy::infinity, 1}};
  for (auto const& [to, type] : stored_formats) {
    for (way const& how : ways) {
      SCOPED_TRACE(testing::Message() << to.name << testing::PrintToString(how.options));
      std::vector<std::string> arguments{"convert", model, out, "--to", to.name};
      arguments.insert(arguments.end(), how.options.begin(), how.options.end());
      said const s = tool(arguments);
      ASSERT_EQ(s.status, 0) << s.err;
      EXPECT_TRUE(has(s.out, "2 tensors converted to " + std::string(to.name)));
      EXPECT_EQ(st::file(out).at("b.floats").type, type);
      EXPECT_TRUE(codes_in(out, "a.doubles") == expected(to, doubles, how, 0));
      EXPECT_TRUE(codes_in(out, "b.floats") == expected(to, floats, how, 1));
      std::string const first = contents(out);
      EXPECT_EQ(tool(arguments).status, 0);
      EXPECT_TRUE(first == contents(out)) << "other bits at the second time";
    }
  }
}

TEST_F(convert, scales_tensors_that_need_it) {
  std::vector<float> const tiny{1e-9f, -3e-9f, 0}, large{1e6f, 3}, fine{1, 2};
  write(model, {of("a.tiny", tiny), of("b.large", large), of("c.fine", fine)},
        {{"format", "pt"}, {"lowp.checkpoint", "1"}, {"scalar.c.fine.scale", "1"}});
  ASSERT_EQ(tool({"convert", model, out, "--to", "float16", "--scale", "tensor"}).status, 0);
  st::file const file(out);
  // 3e-9 is 1.61 * 2^-29 and 1e6 is 1.9 * 2^19; the largest float16 is just under 2^16.
  std::map<std::string, std::string> const want{{"format", "pt"},
                                                {"lowp.checkpoint", "1"},
                                                {"scalar.a.tiny.scale", "17592186044416"},
                                                {"scalar.b.large.scale", "0.0625"}};
  EXPECT_EQ(file.metadata(), want);
  way const nearest{{}, oracle::mode::nearest_even, {}, 1};
  auto const times = [](std::vector<float> values, float scale) {
    for (float& x : values) x *= scale;
    return values;
  };
  EXPECT_EQ(codes_in(out, "a.tiny"), expected(oracle::float16, times(tiny, 0x1p44f), nearest, 0));
  EXPECT_EQ(codes_in(out, "b.large"), expected(oracle::float16, times(large, 0x1p-4f), nearest, 1));
  EXPECT_EQ(codes_in(out, "c.fine"), expected(oracle::float16, fine, nearest, 2));

  // The program itself reads it as the values, and so does the library's checkpoint.
  EXPECT_EQ(tool({"diff", model, out, "--within", "0.5"}).status, 0);
  EXPECT_EQ(tool({"audit", out, "--to", "float8_e5m2"}).status, 1);
  std::string const back = folder.file("back");
  ASSERT_EQ(tool({"convert", out, back, "--to", "float32"}).status, 0);
  EXPECT_EQ(st::file(back).metadata(),
            (std::map<std::string, std::string>{{"format", "pt"}, {"lowp.checkpoint", "1"}}));
  auto const values = st::file(back).read<float>(st::file(back).at("a.tiny"));
  for (std::size_t i = 0; i < tiny.size(); ++i)
    EXPECT_NEAR(values[i], tiny[i], std::fabs(tiny[i]) * 0x1p-11f);

  std::vector<lowp::float16> codes(tiny.size()), others(large.size()), rest(fine.size());
  float scale = 0, other = 0;
  lowp::checkpoint()
      .tensor("a.tiny", codes)
      .scalar("a.tiny.scale", scale)
      .tensor("b.large", others)
      .scalar("b.large.scale", other)
      .tensor("c.fine", rest)
      .load(out);
  EXPECT_EQ(scale, 0x1p44f);
  EXPECT_EQ(other, 0x1p-4f);
  EXPECT_EQ(codes[0].bits(), codes_in(out, "a.tiny")[0]);

  // A tensor that has the type stays as it is, with its scale.
  std::string const again = folder.file("again");
  ASSERT_EQ(tool({"convert", out, again, "--to", "float16", "--scale", "tensor"}).status, 0);
  EXPECT_TRUE(contents(again) == contents(out));
}

TEST_F(convert, leaves_the_rest_alone) {
  std::vector<std::int64_t> ids(1'000'001);
  std::iota(ids.begin(), ids.end(), -5);
  std::vector<float> const w{1.1f, 2.2f};
  write(
      model,
      {of("ids", ids),
       of("mask", std::vector<std::uint8_t>{1, 0, 1}),
       {"packed", st::dtype::f4_e2m1, {3, 2}, {std::byte{0x12}, std::byte{0x34}, std::byte{0x56}}},
       of("scales", std::vector<lowp::float8_e8m0fnu>{lowp::float8_e8m0fnu::from_bits(130)}),
       of("norm.weight", w),
       of("w", w, {1, 2}),
       of("empty", std::vector<float>{}, {0, 7}),
       of("scalar", std::vector<float>{3}),
       of("half", std::vector<lowp::float16>(5))},
      {{"format", "pt"}, {"", "\"\n"}});
  ASSERT_EQ(
      tool({"convert", model, out, "--to", "float16", "--keep", "^norm\\.", "--keep", "packed"})
          .status,
      0);
  st::file const from(model), to(out);
  EXPECT_EQ(from.metadata(), to.metadata());
  EXPECT_EQ(from.tensors().size(), to.tensors().size());
  for (st::tensor const& t : from.tensors()) {
    bool const is_converted = t.name == "w" || t.name == "empty" || t.name == "scalar";
    EXPECT_EQ(to.at(t.name).type, is_converted ? st::dtype::f16 : t.type) << t.name;
    EXPECT_EQ(to.at(t.name).shape, t.shape) << t.name;
    EXPECT_TRUE(is_converted || bytes_in(model, t.name) == bytes_in(out, t.name)) << t.name;
  }
}

TEST_F(convert, keeps_nan_and_says_what_is_lost) {
  write(model, {of("w", std::vector<float>{NAN, INFINITY, 1e9f, 1e-9f, 1}),
                of("x", std::vector<double>{1e300, 1e-300, 1, 3e-46})});
  said const s = tool({"convert", model, out, "--to", "float16"});
  EXPECT_TRUE(has(s.out,
                  "\noverflow: 2, flushed to zero: 3; audit says more\n"
                  "  x: of 4 values: overflow 1, flushed to zero 2\n"
                  "  w: of 5 values: overflow 1, flushed to zero 1\n"));
  EXPECT_EQ(codes_in(out, "w"), (std::vector<std::uint32_t>{0x7e00, 0x7c00, 0x7c00, 0, 0x3c00}));
  // A narrower float is one too.
  said const t = tool({"convert", model, out, "--to", "float32"});
  EXPECT_TRUE(has(t.out, "\noverflow: 1, flushed to zero: 2; audit says more\n"));

  // Infinities that the format lacks are lost, too.
  EXPECT_TRUE(has(tool({"convert", model, out, "--to", "float8_e4m3fn"}).out,
                  "infinities and NaN that the format lacks: 1; audit says more\n"));
  std::vector<double> const beyond{1e300, -1e300, -INFINITY, NAN};
  write(model, {of("x", beyond), of("w", std::vector<float>{INFINITY, 1})});
  ASSERT_EQ(tool({"convert", model, out, "--to", "float32", "--overflow", "saturate"}).status, 0);
  auto const clamped = st::file(out).read<float>(st::file(out).at("x"));
  float const largest = std::numeric_limits<float>::max();
  EXPECT_EQ(std::vector(clamped.begin(), clamped.end() - 1),
            (std::vector{largest, -largest, -largest}));
  EXPECT_TRUE(std::isnan(clamped.back()));
  // A tensor that has the type keeps its bytes.
  EXPECT_EQ(bytes_in(model, "w"), bytes_in(out, "w"));

  // A scale saves the largest at the expense of the others.
  std::vector<lowp::bfloat16> wide;
  for (float const x : {1.0f, -2.0f, 70000.0f, 4.0f, 5.0f, 6.0f, 7.0f, 3e38f}) wide.emplace_back(x);
  write(model, {of("w", wide)});
  EXPECT_TRUE(has(tool({"convert", model, out, "--to", "float16"}).out,
                  "\n  w: of 8 values: overflow 2, flushed to zero -\n"));
  EXPECT_TRUE(has(tool({"convert", model, out, "--to", "float16", "--scale", "tensor"}).out,
                  "\n  w: of 8 values, scale 2^-112: overflow -, flushed to zero 7\n"));
  EXPECT_EQ(tool({"convert", model, out, "--to", "bfloat16"}).out.find("overflow"),
            std::string::npos);

  std::vector<named_bytes> many;
  for (char name = 'a'; name < 'a' + 13; ++name)
    many.push_back(of({name}, std::vector<float>(name == 'm' ? 2 : 1, 1e9f)));
  write(model, many);
  said const all = tool({"convert", model, out, "--to", "float16"});
  EXPECT_TRUE(has(all.out, "more\n  m: of 2 values: overflow 2,"));
  EXPECT_TRUE(has(all.out, "\n  a: of 1 value: overflow 1, flushed to zero -\n"));
  EXPECT_TRUE(has(all.out, "\n  and 3 more\n"));
}

// A value with a scale need not be a float, and is rounded once.
TEST_F(convert, rounds_scaled_values_once) {
  float const x = 2.5f * 0x1p-9f * (1 + 0x1p-20f);
  std::vector<float> const most{3.4028235e38f, 1, -3.4028235e38f};
  write(model, {of("a", most)});
  for (char const* to : {"bfloat16", "float16", "float8_e4m3fn"}) {
    ASSERT_EQ(tool({"convert", model, out, "--to", to, "--scale", "tensor"}).status, 0);
    EXPECT_EQ(tool({"diff", model, out, "--within", "0.5"}).status, 0) << to;
  }
  // By the scale 2^126, one float's product would be a tie, and the other step up.
  std::string const again = folder.file("again");
  write(model, {of("a", std::vector<float>{x})},
        {{"scalar.a.scale", "85070591730234615865843651857942052864"}});
  ASSERT_EQ(tool({"convert", model, out, "--to", "float8_e4m3fn", "--scale", "tensor"}).status, 0);
  write(model, {of("a", std::vector<double>{static_cast<double>(x) * 0x1p-126})});
  ASSERT_EQ(tool({"convert", model, again, "--to", "float8_e4m3fn", "--scale", "tensor"}).status,
            0);
  EXPECT_EQ(codes_in(out, "a"), codes_in(again, "a"));
}

// The bits of the whole model, whatever the shards.
TEST_F(convert, makes_one_file_of_shards) {
  std::vector<float> const a = patterns(1000, 4), b = patterns(1000, 5), c = patterns(1000, 6);
  write(model, {of("a", a), of("b", b), of("c", c)}, {{"format", "pt"}});
  write(folder.file("1.safetensors"), {of("c", c), of("a", a)}, {{"format", "pt"}});
  write(folder.file("2.safetensors"), {of("b", b)}, {{"format", "np"}});
  std::string const index = folder.file("model.safetensors.index.json");
  set_contents(index, R"({"metadata": {"total_size": 12000}, "weight_map": {
    "a": "1.safetensors", "b": "2.safetensors", "c": "1.safetensors"}})");
  EXPECT_EQ(tool({"diff", model, index}).status, 0);
  auto const converted = [&](std::string const& from) {
    EXPECT_EQ(tool({"convert", from, out, "--to", "bfloat16", "--rounding", "stochastic"}).status,
              0);
    return contents(out);
  };
  EXPECT_TRUE(converted(model) == converted(index));
  EXPECT_TRUE(has(refusal({"convert", index, folder.file("2.safetensors"), "--to", "float16"}),
                  "is a part of"));
  EXPECT_TRUE(has(refusal({"convert", index, index, "--to", "float16"}), "is a part of"));
}

TEST_F(convert, may_replace_its_source) {
  std::vector<float> const w = patterns(300'000, 7);
  write(model, {of("w", w), of("x", std::vector<std::int32_t>{1, 2})});
  ASSERT_EQ(tool({"convert", model, out, "--to", "bfloat16"}).status, 0);
  std::string const link = folder.file("link");
  std::filesystem::create_symlink(model, link);
  ASSERT_EQ(tool({"convert", link, link, "--to", "bfloat16"}).status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(contents(model) == contents(out));
  EXPECT_EQ(folder.names().size(), 3U);
}

// Whatever goes wrong on the way, the old file is there and nothing else.
TEST_F(convert, appears_whole_or_not_at_all) {
  write(model, {of("w", std::vector<float>(1000, 1.5f))});
  set_contents(out, "old");
  stop = true;
  said const s = tool({"convert", model, out, "--to", "float16"});
  stop = false;
  EXPECT_EQ(s.status, 130);
  EXPECT_EQ(s.err, "lowp-model: interrupted\n");
  EXPECT_EQ(contents(out), "old");
  EXPECT_EQ(folder.names().size(), 2U);
}

TEST_F(convert, refuses) {
  write(model, {of("w", std::vector<float>{1})});
  auto const to = [&](std::string const& format, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"convert", model, out, "--to", format});
    return refusal(more);
  };
  EXPECT_TRUE(has(to("float8_e3m4"), "no type for float8_e3m4"));
  EXPECT_TRUE(has(to("float64"), "no format 'float64'"));
  EXPECT_TRUE(has(to("float16", {"--rounding", "upward"}), "upward"));
  EXPECT_TRUE(has(to("float32", {"--rounding", "stochastic"}), "narrower than float32"));
  EXPECT_TRUE(has(to("float16", {"--seed", "-1"}), "'-1'"));
  EXPECT_TRUE(has(to("float16", {"--seed", "18446744073709551616"}), "2^64"));
  EXPECT_TRUE(has(to("float16", {"--overflow", "wrap"}), "wrap"));
  EXPECT_TRUE(has(refusal({"convert", model, "--to", "float16"}), "OUT"));
  EXPECT_TRUE(has(refusal({"convert", model, folder.file("no/out"), "--to", "float16"}),
                  "No such file or directory"));
  EXPECT_TRUE(has(refusal({"convert", model, folder.file(""), "--to", "float16"}), "directory"));
  std::string const pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(has(refusal({"convert", model, pipe, "--to", "float16"}), "'" + pipe + "'"));
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_EQ(folder.names().size(), 2U);
}

}  // namespace
