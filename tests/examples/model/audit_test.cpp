// SPDX-License-Identifier: Apache-2.0
// The audit agrees with the oracle's rounding on each tensor, in the table, the JSON and the page;
// its verdict is its status.
#include <bit>
#include <cmath>
#include <files/text.hpp>
#include <filesystem>
#include <limits>
#include <targets/odd.hpp>

#include "support/census_expectations.hpp"
#include "tool.hpp"

namespace {

using namespace lowp_test;
using nlohmann::json;

constexpr float infinity = std::numeric_limits<float>::infinity();

json audited(std::string const& model, std::string const& to,
             std::vector<std::string> const& more = {}) {
  scratch_folder const folder;
  std::vector<std::string> arguments{"audit", model, "--to", to, "--json", folder.file("json")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  said const s = tool(arguments);
  EXPECT_LT(s.status, 2) << s.err;
  EXPECT_EQ(s.err, "");
  json j = json::parse(contents(folder.file("json")));
  EXPECT_EQ(j["fits"], s.status == 0);
  EXPECT_TRUE(has(s.out, "verdict: " + j["verdict"].get<std::string>()));
  return j;
}

json const& tensor_of(json const& audit, std::string const& name) {
  for (json const& t : audit["tensors"])
    if (t["name"] == name) return t;
  throw std::runtime_error("no tensor " + name);
}

// Values times a scale, whose least need not be a float.
struct expected_figures : expected_census {
  double least = std::numeric_limits<double>::infinity();
};

void expect_figures(json const& got, expected_figures const& want) {
  EXPECT_EQ(got["count"], want.count);
  EXPECT_EQ(got["nan"], want.nan);
  EXPECT_EQ(got["infinite"], want.infinite);
  EXPECT_EQ(got["overflow"], want.overflow);
  EXPECT_EQ(got["subnormal"], want.subnormal);
  EXPECT_EQ(got["flushed"], want.flushed);
  EXPECT_EQ(got["max_abs"], want.max_abs);
  EXPECT_EQ(got["min_abs"], std::isinf(want.least) ? 0 : want.least);
  EXPECT_EQ(got["max_relative_error"], want.max_relative_error);
  std::map<int, std::uint64_t> exponents;
  for (auto const& [exponent, many] : got["exponents"].items())
    exponents[std::stoi(exponent)] = many;
  EXPECT_EQ(exponents, want.exponents);
}

expected_figures expected(oracle::facts const& to, std::vector<float> const& values, float scale) {
  expected_figures want{{to}};
  for (float const x : values) {
    // Rounding to odd counts what a double is to any format.
    double const scaled = static_cast<double>(x) * static_cast<double>(scale);
    want.add(std::bit_cast<std::uint32_t>(rounded_to_odd(scaled)));
    if (scaled != 0 && std::isfinite(scaled)) want.least = std::min(want.least, std::fabs(scaled));
  }
  return want;
}

class audit : public model_tool {};

// Audits for every format.
TEST_F(audit, has_the_figures_of_the_oracle) {
  // More than one piece, and the last one partial.
  std::vector<float> const floats = patterns(300'001, 1);
  std::vector<float> around, small{0x1p-140f, 3e-5f, 0.25f, 1.5f};
  for (int i = 0; i < 1000; ++i)
    around.push_back(std::ldexp(1 + static_cast<float>(i) / 512, -i % 23) *
                     (i % 2 == 0 ? 1.0f : -1.0f));
  std::vector<lowp::float16> halves;
  std::vector<float> widened;
  for (unsigned code = 0; code < 65536; ++code) {
    halves.push_back(lowp::float16::from_bits(static_cast<std::uint16_t>(code)));
    widened.push_back(float_of(oracle::decode_to_float_bits(oracle::float16, code)));
  }
  write(model, {of("floats", floats), of("around", around), of("small", small),
                of("halves", halves), of("steps", std::vector<std::int64_t>{1, 2, 3})});
  std::map<std::string, std::vector<float> const*> const all{
      {"floats", &floats}, {"around", &around}, {"small", &small}, {"halves", &widened}};
  int formats = 0;
  for (oracle::facts const& to : oracle::all) {
    if (!to.is_signed) continue;  // scales, not weights
    ++formats;
    json const j = audited(model, to.name);
    bool const is_float16 = to.name == std::string("float16");  // then the halves stay
    EXPECT_EQ(j["tensors"].size(), is_float16 ? 3U : 4U);
    EXPECT_EQ(j["others"], is_float16 ? 2 : 1);
    for (auto const& [name, values] : all) {
      SCOPED_TRACE(name + " as " + to.name);
      if (is_float16 && name == "halves") continue;
      json const& t = tensor_of(j, name);
      expected_figures const plain = expected(to, *values, 1);
      expect_figures(t["as_it_is"], plain);
      float const scale = t["scale"];
      expect_figures(t["with_scale"], expected(to, *values, scale));
      EXPECT_EQ(t["in_range_with_scale"],
                t["with_scale"]["overflow"] == 0 && t["with_scale"]["flushed"] == 0);
      if (plain.overflow + plain.flushed + plain.subnormal == 0) {
        EXPECT_EQ(scale, 1);
        continue;
      }
      // The largest power of two with which no rounding mode overflows, or the largest there is.
      EXPECT_LE(plain.max_abs * scale, to.max_finite);
      EXPECT_TRUE(scale == 0x1p126f || double{plain.max_abs} * 2 * scale > to.max_finite);
    }
  }
  EXPECT_EQ(formats, 12);
}

TEST_F(audit, reads_every_type_as_itself) {
  std::vector<float> const values{0, 1, -1.5f, 0.25f, 2, -3, 4, 0.5f};
  std::vector<named_bytes> tensors;
  auto const add = [&]<class... T>(std::type_identity<T>...) {
    auto const one = [&]<class U>(std::type_identity<U>) {
      std::vector<U> in;
      for (float const x : values) in.push_back(static_cast<U>(x));
      tensors.push_back(of(std::string(name_of(st::dtype_of<U>)), in));
    };
    (one(std::type_identity<T>{}), ...);
  };
  add(std::type_identity<double>{}, std::type_identity<float>{},
      std::type_identity<lowp::float16>{}, std::type_identity<lowp::bfloat16>{},
      std::type_identity<lowp::float8_e4m3fn>{}, std::type_identity<lowp::float8_e5m2>{},
      std::type_identity<lowp::float8_e4m3fnuz>{}, std::type_identity<lowp::float8_e5m2fnuz>{});
  write(model, tensors);
  json const j = audited(model, "float8_e3m4");
  EXPECT_EQ(j["tensors"].size(), 8U);
  for (json const& t : j["tensors"]) {
    EXPECT_EQ(t["dtype"], t["name"]);
    expect_figures(t["as_it_is"], expected(oracle::float8_e3m4, values, 1));
  }
  EXPECT_TRUE(j["fits"]);
}

// A double is rounded once: next to the middle between two values, by less than a float can tell.
TEST_F(audit, rounds_doubles_once) {
  write(model, {of("kept", std::vector<double>{0x1p-25 * (1 + 0x1p-50), 65520 * (1 - 0x1p-50)}),
                of("lost", std::vector<double>{0x1p-25, 65520, 1e300, -1e-300, 1})});
  json const j = audited(model, "float16");
  EXPECT_EQ(tensor_of(j, "kept")["as_it_is"]["overflow"], 0);
  EXPECT_EQ(tensor_of(j, "kept")["as_it_is"]["flushed"], 0);
  EXPECT_EQ(tensor_of(j, "lost")["as_it_is"]["overflow"], 2);
  EXPECT_EQ(tensor_of(j, "lost")["as_it_is"]["flushed"], 2);
}

// A range is that of the doubles, though no float has it. A scale that is not enough says so.
TEST_F(audit, shows_the_range_of_doubles) {
  write(model, {of("w", std::vector<double>{1e300, -1e-300, 0, INFINITY, NAN})});
  json const j = audited(model, "float16");
  json const& w = tensor_of(j, "w");
  for (json const& figures : {w["as_it_is"], j["as_it_is"]}) {
    EXPECT_EQ(figures["min_abs"], 1e-300);
    EXPECT_EQ(figures["max_abs"], 1e300);
    EXPECT_EQ(figures["zeros"], 1);
  }
  EXPECT_EQ(w["scale"], 0x1p-113);
  // 1e-300 * 2^-113 is no double.
  EXPECT_EQ(w["with_scale"]["flushed"], 1);
  EXPECT_EQ(w["with_scale"]["zeros"], 1);
  EXPECT_EQ(w["with_scale"]["overflow"], 1);
  EXPECT_EQ(w["with_scale"]["max_abs"], 1e300 * 0x1p-113);
  std::string const page = folder.file("page");
  said const s = tool({"audit", model, "--to", "float16", "--html", page});
  EXPECT_TRUE(has(s.out, " 1e-300 "));
  EXPECT_TRUE(has(s.out, " 1e+300 "));
  EXPECT_TRUE(has(s.out, " 2^-113, 1 overflow, 1 flushed\n"));
  EXPECT_TRUE(has(contents(page), "from 1e-300 to 1e+300"));
}

TEST_F(audit, says_whether_it_fits) {
  auto const verdict = [&](std::vector<float> const& values, std::string const& to,
                           std::vector<std::string> const& more = {}) {
    write(model, {of("w", values)});
    json const j = audited(model, to, more);
    return std::pair<bool, std::string>(j["fits"], j["verdict"]);
  };
  EXPECT_EQ(verdict({1, 2}, "float16"),
            std::pair(true, std::string("fits float16: overflow none, flushed to zero none")));
  EXPECT_EQ(
      verdict({1, 65520, 1e-9f}, "float16"),
      std::pair(false, std::string("does not fit float16: overflow 1 value in 1 tensor, flushed to "
                                   "zero 1 value in 1 tensor (at most 0.33 of a tensor)")));
  EXPECT_TRUE(verdict({1, 65519}, "float16").first);
  EXPECT_TRUE(verdict({0x1.000002p-25f, 1}, "float16").first);
  EXPECT_FALSE(verdict({0x1p-25f, 1}, "float16").first);
  // Scales of the tensor's own, up and down; and a tensor that no scale fits.
  EXPECT_TRUE(verdict({70000, 1}, "float16", {"--scale", "tensor"}).first);
  EXPECT_TRUE(verdict({1e-9f, 1e-8f}, "float16", {"--scale", "tensor"}).first);
  EXPECT_FALSE(verdict({70000, 1e-9f}, "float16", {"--scale", "tensor"}).first);
  // Allowed shares of flushed values.
  EXPECT_TRUE(verdict({1, 1, 1, 1e-9f}, "float16", {"--flushed", "0.25"}).first);
  EXPECT_FALSE(verdict({1, 1, 1, 1e-9f}, "float16", {"--flushed", "0.24"}).first);
  EXPECT_FALSE(verdict({1, 1, 1, 1e9f}, "float16", {"--flushed", "1"}).first);
  // Zeros are no numbers that could be flushed.
  EXPECT_FALSE(verdict({0, 0, 0, 1, 1e-9f}, "float16", {"--flushed", "0.49"}).first);
  // Infinities and NaN are no fault of a format that has them.
  EXPECT_TRUE(verdict({infinity, NAN}, "float16").first);
  EXPECT_FALSE(verdict({infinity}, "float8_e4m3fn").first);
  EXPECT_TRUE(verdict({NAN}, "float8_e4m3fn").first);
  EXPECT_EQ(
      verdict({NAN}, "float4_e2m1fn").second,
      "does not fit float4_e2m1fn: overflow none, flushed to zero none, NaN already 1 value in "
      "1 tensor, which the format lacks");
  EXPECT_TRUE(verdict({}, "float4_e2m1fn").first);
  write(model, {of("a", std::vector<float>{1e9f, 1e9f, 1e9f}), of("b", std::vector<float>{1e9f})});
  EXPECT_TRUE(
      has(tool({"audit", model, "--to", "float16"}).out, "overflow 4 values in 2 tensors,"));
}

TEST_F(audit, lists_the_worst_first_without_kept_tensors) {
  write(model,
        {of("a.fine", std::vector<float>{1, 2}), of("b.flushed", std::vector<float>{1, 1e-9f}),
         of("c.overflow", std::vector<float>{1, 1, 1, 1, 1e9f}),
         of("d.subnormal", std::vector<float>{1, 1e-6f}), of("e.norm", std::vector<float>{1e9f}),
         of("f.wide", std::vector<float>{1e4f, 1e4f, 1e-9f})});
  json const j = audited(model, "float16", {"--keep", "norm$", "--keep", "^x"});
  std::vector<std::string> names;
  for (json const& t : j["tensors"]) names.push_back(t["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"c.overflow", "b.flushed", "f.wide", "d.subnormal",
                                             "a.fine"}));
  said const s = tool({"audit", model, "--to", "float16", "--top", "1"});
  EXPECT_TRUE(has(s.out, "\ne.norm "));
  EXPECT_FALSE(has(s.out, "c.overflow"));
  EXPECT_TRUE(has(s.out, "\n... and 5 more (--top 0)\n"));
  EXPECT_TRUE(has(s.out, "\nall 6 "));
  EXPECT_TRUE(has(s.out, "does not fit float16 with a scale for each tensor"));
}

TEST_F(audit, says_where_values_are_infinite_or_nan_already) {
  write(model, {of("a", std::vector<float>{1, NAN, NAN}), of("b", std::vector<float>{1, 2})});
  auto const table = [&] { return tool({"audit", model, "--to", "float16"}).out; };
  EXPECT_TRUE(has(table(), "subnormal  NaN "));
  EXPECT_FALSE(has(table(), "subnormal  infinite"));
  EXPECT_TRUE(has(table(), "-    2      -      1\n"));
  write(model, {of("a", std::vector<float>{infinity}), of("b", std::vector<float>{NAN})});
  EXPECT_TRUE(has(table(), "subnormal  infinite  NaN  error"));
  EXPECT_TRUE(
      has(table(), "infinite already 1 value in 1 tensor, NaN already 1 value in 1 tensor"));
  write(model, {of("b", std::vector<float>{1, 2})});
  EXPECT_TRUE(has(table(), "subnormal  error"));
}

TEST_F(audit, names_what_stays_as_it_is) {
  std::vector<std::int64_t> const ids{1};
  std::vector<named_bytes> tensors{of("w", std::vector<float>{1}), of("a", ids)};
  write(model, tensors);
  EXPECT_TRUE(has(tool({"audit", model, "--to", "float16"}).out, "\n1 tensor stays as it is\n"));
  EXPECT_TRUE(has(tool({"audit", model, "--to", "float16"}).out, "\nas they are: a\n"));
  for (char const* name : {"b", "c", "d", "e", "f", "g"}) tensors.push_back(of(name, ids));
  write(model, tensors);
  EXPECT_TRUE(has(tool({"audit", model, "--to", "float16"}).out, "\n7 tensors stay as they are\n"));
  EXPECT_TRUE(has(tool({"audit", model, "--to", "float16"}).out,
                  "\nas they are: a, b, c, d, e and 2 more\n"));
  EXPECT_EQ(audited(model, "float16")["names_of_others"],
            (std::vector<std::string>{"a", "b", "c", "d", "e", "f", "g"}));
}

// It keeps its bytes and its scale, and so loses nothing.
TEST_F(audit, lets_a_tensor_of_the_type_stay) {
  write(model, {of("w", std::vector<lowp::float16>{lowp::float16(6e-8f), lowp::float16(60000.0f)})},
        {{"scalar.w.scale", "64"}});
  said const s = tool({"audit", model, "--to", "float16"});
  EXPECT_EQ(s.status, 0);
  EXPECT_TRUE(has(s.out, "\nas they are: w\n"));
  EXPECT_EQ(tool({"audit", model, "--to", "float8_e5m2"}).status, 1);
}

TEST_F(audit, writes_to_the_standard_output_for_a_dash) {
  write(model, {of("w", std::vector<float>{1, 1e9f})});
  std::string const path = folder.file("json"), page = folder.file("page");
  EXPECT_EQ(tool({"audit", model, "--to", "float16", "--json", path, "--html", page}).status, 1);
  said const s = tool({"audit", model, "--to", "float16", "--json", "-"});
  EXPECT_EQ(s.status, 1);
  EXPECT_EQ(s.out, contents(path));
  EXPECT_EQ(s.err, "");
  EXPECT_EQ(tool({"audit", model, "--to", "float16", "--html", "-"}).out, contents(page));
  EXPECT_EQ(tool({"audit", model, "--to", "bfloat16", "--json=-"}).status, 0);
  EXPECT_TRUE(has(refusal({"audit", model, "--to", "float16", "--json", "-", "--html", "-"}),
                  "are one file"));
  EXPECT_FALSE(std::filesystem::exists("-"));
}

// Well-formed as far as tags go, with a picture for each tensor; what a name says is no markup.
TEST_F(audit, draws_a_page) {
  std::string const name = "<script>alert(\"&1\")</script>\x7f";
  write(model, {of(name, std::vector<float>{1, 2, 3e-6f, 1e9f}),
                of("empty", std::vector<float>{}, {0, 3}), of("zeros", std::vector<float>{0, 0})});
  std::string const page = folder.file("page.html");
  EXPECT_EQ(tool({"audit", model, "--to", "float16", "--html", page}).status, 1);
  std::string const html = contents(page);
  EXPECT_FALSE(has(html, "<script"));
  EXPECT_TRUE(has(html, "&lt;script&gt;alert(&quot;&amp;1&quot;)&lt;/script&gt;\\x7f"));
  EXPECT_FALSE(has(html, "http-equiv"));
  EXPECT_FALSE(has(html, "src="));
  auto const count = [&](std::string const& part) {
    int many = 0;
    for (auto at = html.find(part); at != html.npos; at = html.find(part, at + 1)) ++many;
    return many;
  };
  EXPECT_EQ(count("<svg "), 4);
  EXPECT_EQ(count("</svg>"), 4);
  EXPECT_EQ(count("<rect class=\"normal\""), 4);
  EXPECT_EQ(count("<rect class=\"overflow\""), 4);
  // 1 and 2, 3e-6 and 1e9 of two kinds of exponent; once for all tensors and once for the first.
  EXPECT_EQ(count("<rect class=\"bar\""), 2 * 4);
  EXPECT_EQ(count("<title>2^29: 1</title>"), 2);
  for (char const* tag :
       {"rect", "section", "text", "title", "p", "h2", "span", "style", "tspan"}) {
    std::string const open = std::string("<") + tag, close = std::string("</") + tag + ">";
    EXPECT_EQ(count(open + " ") + count(open + ">"), count(close)) << tag;
  }
}

// No report replaces the model, nor the other report, under whatever name.
TEST_F(audit, spares_what_it_reads) {
  write(model, {of("w", std::vector<float>{1})});
  std::string const link = folder.file("link"), hard = folder.file("hard");
  std::filesystem::create_symlink("model.safetensors", link);
  std::filesystem::create_hard_link(model, hard);
  std::string const index = folder.file("m.index.json");
  std::string const index_text = R"({"weight_map": {"w": "model.safetensors"}})";
  set_contents(index, index_text);
  std::string const before = contents(model);
  std::string const other_way =
      folder.file("../") +
      std::filesystem::path(folder.file("")).parent_path().filename().string() +
      "/./model.safetensors";
  for (std::string const& path : {model, link, hard, other_way})
    for (char const* report : {"--json", "--html"}) {
      EXPECT_TRUE(
          has(refusal({"audit", model, "--to", "float16", report, path}), "is the model '"));
      EXPECT_TRUE(has(refusal({"audit", link, "--to", "float16", report, path}), "is the model '"));
      EXPECT_TRUE(
          has(refusal({"audit", index, "--to", "float16", report, path}), "is a part of '"));
    }
  EXPECT_TRUE(has(refusal({"audit", index, "--to", "float16", "--json", index}), "is a part of '"));
  auto const both = [&](std::string const& a, std::string const& b) {
    return refusal({"audit", model, "--to", "float16", "--json", a, "--html", b});
  };
  EXPECT_TRUE(has(both(folder.file("x"), folder.file("x")), "are one file"));
  EXPECT_TRUE(has(both(folder.file("x"), folder.file("./x")), "are one file"));
  std::filesystem::create_symlink("later", folder.file("z"));
  EXPECT_TRUE(has(both(folder.file("z"), folder.file("later")), "are one file"));
  std::filesystem::remove(folder.file("z"));
  EXPECT_EQ(folder.names().size(), 4U);
  set_contents(folder.file("x"), "x");
  std::filesystem::create_symlink("x", folder.file("y"));
  EXPECT_TRUE(has(both(folder.file("x"), folder.file("y")), "are one file"));
  EXPECT_EQ(contents(folder.file("x")), "x");
  EXPECT_EQ(contents(index), index_text);
  EXPECT_TRUE(contents(model) == before);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

// Names stay as they are if a terminal can show them. Cuts fall between characters and escapes, and
// count columns.
TEST_F(audit, shows_names_in_their_script) {
  using namespace std::string_literals;
  std::string const gewicht =
                        "schicht.gr\xc3\xb6\xc3\x9f"
                        "e",
                    layer = "\xe5\xb1\x82.0";
  write(model, {of(gewicht, std::vector<float>{1}), of(layer, std::vector<float>{1}),
                of("", std::vector<float>{1}), of("a\x1b[2J\xe2\x80\xae", std::vector<float>{1}),
                of("ids.\xc3\xa4", std::vector<std::int64_t>{1})});
  std::string const page = folder.file("page");
  said const s = tool({"audit", model, "--to", "float16", "--html", page});
  EXPECT_TRUE(has(s.out, "\n" + gewicht + "          F32 ")) << "20 columns, of which it has 13";
  EXPECT_TRUE(has(s.out, "\n" + layer));
  EXPECT_TRUE(has(s.out, "\n\"\" "));
  EXPECT_TRUE(has(s.out, "\na\\x1b[2J\\xe2\\x80\\xae   F32 "));
  EXPECT_TRUE(has(s.out, "as they are: ids.\xc3\xa4\n"));
  EXPECT_TRUE(has(contents(page), "<h2>" + gewicht));
  EXPECT_TRUE(has(contents(page), "<h2>&quot;&quot; F32"));
  EXPECT_EQ(audited(model, "float16")["tensors"].size(), 4U);

  for (auto const& [piece, columns] : std::map<std::string, int>{{"\xc3\xa4", 1},
                                                                 {"\xe5\xb1\x82", 1},
                                                                 {"\xf0\x9f\x98\x80", 1},
                                                                 {"\x1b", 4},
                                                                 {"\xe2\x80\xae", 12},
                                                                 {"\xff", 4},
                                                                 {"\x80", 4}})
    for (std::size_t many = 1; many < 300; ++many)
      for (std::string const& more : {""s, "a"s, "ab"s}) {
        std::string name = more;
        for (std::size_t i = 0; i < many; ++i) name += piece;
        name += more;
        auto const shown_piece = st::detail::printable(piece);
        std::string shown = shown_name(name, 48);
        std::size_t const all = many * static_cast<std::size_t>(columns) + 2 * more.size();
        ASSERT_EQ(has(shown, "..."), all > 48) << shown;
        ASSERT_TRUE(shown.starts_with(more) && shown.ends_with(more));
        // Whole pieces are left on either side.
        std::size_t pieces = 0;
        for (auto at = shown.find(shown_piece); at != shown.npos; at = shown.find(shown_piece)) {
          shown.erase(at, shown_piece.size());
          ++pieces;
        }
        ASSERT_EQ(shown, all > 48 ? more + "..." + more : more + more);
        std::size_t const width = pieces * static_cast<std::size_t>(columns) + shown.size();
        ASSERT_LE(width, 48U);
        ASSERT_GT(width + 2 * static_cast<std::size_t>(columns), std::min<std::size_t>(all, 48U));
      }
}

TEST_F(audit, refuses) {
  write(model, {of("w", std::vector<float>{1})});
  EXPECT_TRUE(has(refusal({"audit", model, "--to", "float17"}),
                  "no format 'float17': --to takes "
                  "float16, bfloat16"));
  EXPECT_TRUE(has(refusal({"audit", model, "--to", "float32"}), "narrower than float32"));
  EXPECT_TRUE(has(refusal({"audit", model}), "--to"));
  EXPECT_TRUE(has(refusal({"audit"}), "MODEL"));
  EXPECT_TRUE(has(refusal({}), "subcommand"));
  EXPECT_TRUE(has(refusal({"inspect"}), "--help"));
  EXPECT_TRUE(has(refusal({"audit", model, "--to", "float16", "--keep", "("}), "--keep '('"));
  EXPECT_TRUE(has(refusal({"audit", model, "--to", "float16", "--flushed", "nan"}), "'nan'"));
  EXPECT_TRUE(has(refusal({"audit", model, "--to", "float16", "--flushed", "-1"}), "'-1'"));
  EXPECT_TRUE(has(refusal({"audit", model, "--to", "float16", "--top", "-1"}), "'-1'"));
  EXPECT_TRUE(has(refusal({"audit", model, "--to", "float16", "--scale", "row"}), "row"));
  EXPECT_TRUE(has(refusal({"audit", folder.file("none"), "--to", "float16"}), "No such file"));
  EXPECT_TRUE(has(refusal({"audit", model, "--to", "float16", "--json", folder.file("no/j")}),
                  "No such file or directory"));
  EXPECT_TRUE(
      has(refusal({"audit", model, "--to", "float16", "--html", folder.file("")}), "cannot write"));
  EXPECT_EQ(folder.names().size(), 1U);
  EXPECT_EQ(tool({"audit", "--help"}).status, 0);
  EXPECT_TRUE(has(tool({"--help"}).out, "convert"));
  for (std::string const name : {"audit", "convert", "diff"})
    EXPECT_TRUE(has(tool({name, "--help"}).out, "Usage: lowp-model " + name + " "));
}

}  // namespace
