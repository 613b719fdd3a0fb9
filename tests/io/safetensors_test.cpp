// SPDX-License-Identifier: Apache-2.0
// Files of tensors: every written file reads back, and an impossible one is refused with its name.
// No damage to a header is ever accepted as something inconsistent.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <lowp/safetensors.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/scratch.hpp"

namespace {
std::vector<int> errors_of_pread;  // of the next calls
int interrupted_opens = 0;
bool reads_bytewise = false;
}  // namespace

// The program's own definitions go before the C library's.
extern "C" int open(char const* path, int flags, ...) {
  errno = EINTR;
  if (interrupted_opens > 0) return --interrupted_opens, -1;
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, 0666));
}
extern "C" ssize_t pread(int descriptor, void* bytes, std::size_t size, off_t offset) {
  if (errors_of_pread.empty())
    return ::syscall(SYS_pread64, descriptor, bytes, reads_bytewise ? 1 : size, offset);
  errno = errors_of_pread.front();
  errors_of_pread.erase(errors_of_pread.begin());
  return -1;
}

namespace {

using namespace lowp_test;
namespace st = lowp::safetensors;

template <class Fn>
std::string refusal_of(Fn&& fn) {
  try {
    fn();
  } catch (std::runtime_error const& error) {
    return error.what();
  }
  return "not refused";
}

testing::AssertionResult says(std::string const& text, std::string const& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << '"' << text << "\" does not say \"" << part << '"';
}

// The bytes of a file with that header, true or not.
std::string file_of(std::string const& header, std::string const& data) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + data;
}

class safetensors_file : public testing::Test {
 protected:
  // The error of a file with these bytes.
  std::string refusal(std::string const& bytes) {
    set_contents(path, bytes);
    std::string text = refusal_of([&] { st::file const file(path); });
    EXPECT_TRUE(text == "not refused" || text.find(path) != std::string::npos) << text;
    return text;
  }

  scratch_folder folder;
  std::string const path = folder.file("a.safetensors");
};

std::string const w = R"("w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]})";

TEST_F(safetensors_file, holds_every_type) {
  std::vector<st::tensor> tensors;
  std::vector<std::uint64_t> values(3);
  std::iota(values.begin(), values.end(), 0x0102030405060708U);
  auto const each = [&]<class... T>(std::type_identity<T>...) {
    (tensors.push_back({.name = std::string(name_of(st::dtype_of<T>)),
                        .type = st::dtype_of<T>,
                        .shape = {values.size()}}),
     ...);
    st::writer out(path, tensors, {{"format", "pt"}, {"", "\"\n\xc3\xa4"}});
    auto const elements = [&]<class U>(std::type_identity<U>) {
      return std::span(reinterpret_cast<U const*>(values.data()), values.size());
    };
    (out.append(name_of(st::dtype_of<T>), elements(std::type_identity<T>{})), ...);
    out.finish();

    std::uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, contents(path).data(), sizeof(header_bytes));
    EXPECT_EQ(header_bytes % 8, 0U) << "the data lie aligned";
    st::file const file(path);
    EXPECT_EQ(file.tensors().size(), sizeof...(T));
    EXPECT_EQ(file.metadata().at("format"), "pt");
    EXPECT_EQ(file.metadata().at(""), "\"\n\xc3\xa4");
    auto const check = [&]<class U>(std::type_identity<U>) {
      st::tensor const& t = file.at(name_of(st::dtype_of<U>));
      EXPECT_EQ(t.begin % sizeof(U), 0U) << t.name;
      EXPECT_EQ(element_count(t), values.size());
      std::vector<U> const all = file.read<U>(t);
      EXPECT_EQ(std::memcmp(all.data(), values.data(), values.size() * sizeof(U)), 0) << t.name;
      U piece[2];
      file.read(t, 1, std::span<U>(piece));
      EXPECT_EQ(std::memcmp(piece, all.data() + 1, sizeof piece), 0) << t.name;
    };
    (check(std::type_identity<T>{}), ...);
  };
  using lowp::float16, lowp::bfloat16, lowp::float8_e5m2, lowp::float8_e4m3fn, lowp::float8_e8m0fnu,
      lowp::float8_e4m3fnuz, lowp::float8_e5m2fnuz;
  each(std::type_identity<std::uint8_t>{}, std::type_identity<std::int8_t>{},
       std::type_identity<std::uint16_t>{}, std::type_identity<std::int16_t>{},
       std::type_identity<std::uint32_t>{}, std::type_identity<std::int32_t>{},
       std::type_identity<std::uint64_t>{}, std::type_identity<std::int64_t>{},
       std::type_identity<float>{}, std::type_identity<double>{}, std::type_identity<float16>{},
       std::type_identity<bfloat16>{}, std::type_identity<float8_e5m2>{},
       std::type_identity<float8_e4m3fn>{}, std::type_identity<float8_e8m0fnu>{},
       std::type_identity<float8_e4m3fnuz>{}, std::type_identity<float8_e5m2fnuz>{});
}

TEST(safetensors_types, have_names_and_widths) {
  for (int i = 0; i < 22; ++i)
    EXPECT_EQ(st::dtype_named(name_of(static_cast<st::dtype>(i))), static_cast<st::dtype>(i));
  EXPECT_FALSE(st::dtype_named("f32"));
  EXPECT_FALSE(st::dtype_named(""));
  EXPECT_EQ(bits_of(st::dtype::f4_e2m1), 4U);
  EXPECT_EQ(bits_of(st::dtype_of<lowp::float8_e4m3fn>), 8U);
  // Codes take a byte here and are packed there; and these have no name there.
  EXPECT_FALSE(st::stored<lowp::float4_e2m1fn>);
  EXPECT_FALSE(st::stored<lowp::float8_e3m4>);
  EXPECT_FALSE(st::stored<bool>);
}

TEST_F(safetensors_file, takes_what_is_right) {
  std::string const data(8, 'x');
  EXPECT_EQ(refusal(file_of("{}", "")), "not refused");
  EXPECT_EQ(refusal(file_of("{" + w + "}", data)), "not refused");
  EXPECT_EQ(refusal(file_of("{" + w + "}      ", data)), "not refused");
  // Any order of names, empty tensors anywhere, a scalar, packed elements.
  EXPECT_EQ(refusal(file_of(R"({"b":{"dtype":"U8","shape":[],"data_offsets":[8,9]},)"
                            R"("n":{"dtype":"F64","shape":[3,0],"data_offsets":[8,8]},)"
                            R"("q":{"dtype":"F4","shape":[2,3],"data_offsets":[9,12]},)" +
                                w + R"(,"z":{"data_offsets":[0,0],"shape":[0],"dtype":"BOOL"}})",
                            data + "1234")),
            "not refused");
  std::string names;
  st::file const sorted(path);
  for (st::tensor const& t : sorted.tensors()) names += t.name;
  EXPECT_EQ(names, "wzbnq") << "the order of the data";
}

TEST_F(safetensors_file, refuses_a_lying_length) {
  EXPECT_TRUE(says(refusal(""), "it has 0 bytes"));
  EXPECT_TRUE(says(refusal("1234567"), "it has 7 bytes"));
  EXPECT_TRUE(says(refusal(std::string("\x03\0\0\0\0\0\0\0{}", 10)),
                   "its header has 3 bytes, and the file only 10"));
  EXPECT_TRUE(
      says(refusal(std::string(8, '\xff') + "{}"),
           "18446744073709551615 bytes, and may have 100000000: is it a safetensors file?"));
  EXPECT_TRUE(says(refusal(std::string("\1\xe1\xf5\5\0\0\0\0", 8) + std::string(100, ' ')),
                   "100000001 bytes, and may have 100000000"));
  EXPECT_TRUE(says(refusal(std::string(8, '\0')), "does not begin with {"));
}

TEST_F(safetensors_file, refuses_what_is_no_file) {
  EXPECT_TRUE(
      says(refusal_of([&] { st::file const file(folder.file("missing")); }), "No such file"));
  EXPECT_TRUE(says(refusal_of([&] { st::file const file(folder.file("")); }), "it is a folder"));
  // A clone has a text in its place until git lfs pull.
  std::string const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
  EXPECT_TRUE(says(refusal(pointer), "it is a Git LFS pointer: fetch the file with git lfs pull"));
  for (std::size_t const bytes : {8U, 20U, 42U})
    EXPECT_TRUE(says(refusal(pointer.substr(0, bytes)), "is it a safetensors file?"));
  EXPECT_TRUE(says(refusal_of([&] { st::file const file("/dev/zero"); }), "no regular file"));
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(
      says(refusal_of([&] { st::file const file(folder.file("pipe")); }), "no regular file"));
}

TEST_F(safetensors_file, refuses_what_is_no_header) {
  std::string const data(8, 'x');
  auto const of = [&](std::string const& header) { return refusal(file_of(header, data)); };
  EXPECT_TRUE(says(of("[]"), "does not begin with {"));
  EXPECT_TRUE(says(of(" {}"), "does not begin with {"));
  EXPECT_TRUE(says(of("\xef\xbb\xbf{}"), "does not begin with {"));
  EXPECT_TRUE(says(of("{" + w), "no JSON"));
  EXPECT_TRUE(says(of("{" + w + "}x"), "no JSON"));
  EXPECT_TRUE(says(of("{" + w + "}{}"), "no JSON"));
  EXPECT_TRUE(says(of("{" + w + ",}"), "no JSON"));
  EXPECT_TRUE(says(of("{/**/" + w + "}"), "no JSON"));
  EXPECT_TRUE(says(of("{" + w + "}" + std::string("\0rest", 5)),
                   "zero byte at " + std::to_string(w.size() + 2)));
  EXPECT_TRUE(says(of("{\"\xff\":1}"), "no JSON"));
  EXPECT_TRUE(says(of("{\"\xed\xa0\x80\":1}"), "no JSON"));
  // No deeper than a header goes, without recursion.
  EXPECT_TRUE(
      says(of("{\"w\":" + std::string(5'000'000, '[')), "tensor 'w': it is an array, not an obj"));
  std::string nested;
  for (int i = 0; i < 1'000'000; ++i) nested += "{\"w\":";
  EXPECT_TRUE(says(of(nested), "tensor 'w': it has 'w', which no tensor has"));
  EXPECT_TRUE(says(of(R"({"w":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})"),
                   "tensor 'w': shape has an array, not integers"));
}

TEST_F(safetensors_file, refuses_an_invalid_tensor) {
  auto const of = [&](std::string const& tensor) {
    return refusal(file_of("{\"w\":" + tensor + "}", "12345678"));
  };
  auto const with = [&](std::string const& type, std::string const& shape,
                        std::string const& offsets) {
    return of("{\"dtype\":" + type + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}");
  };
  EXPECT_EQ(with("\"F32\"", "[2]", "[0,8]"), "not refused");
  for (char const* value : {"1", "\"F32\"", "null", "true", "[]", "1.5"})
    EXPECT_TRUE(says(of(value), "tensor 'w': it is "));
  EXPECT_TRUE(says(with("\"F33\"", "[2]", "[0,8]"), "tensor 'w': unknown dtype 'F33'"));
  EXPECT_TRUE(says(with("7", "[2]", "[0,8]"), "tensor 'w': dtype is a number, not a string"));
  EXPECT_TRUE(says(with("[]", "[2]", "[0,8]"), "tensor 'w': dtype is an array, not a string"));
  EXPECT_TRUE(says(with("\"F32\"", "2", "[0,8]"), "tensor 'w': shape is a number, not an array"));
  EXPECT_TRUE(says(with("\"F32\"", "null", "[0,8]"), "tensor 'w': shape is null, not an array"));
  EXPECT_TRUE(says(with("\"F32\"", "{}", "[0,8]"), "tensor 'w': shape is an object, not an array"));
  for (char const* extent : {"-2", "-0", "2.0", "2e0", "18446744073709551616", "\"2\"", "null"})
    EXPECT_TRUE(
        says(with("\"F32\"", "[" + std::string(extent) + "]", "[0,8]"), "tensor 'w': shape has "));
  for (char const* offsets : {"[]", "[0]", "[0,8,8]"})
    EXPECT_TRUE(says(with("\"F32\"", "[2]", offsets), "numbers, not 2"));
  EXPECT_TRUE(
      says(with("\"F32\"", "[2]", "[0,-8]"), "tensor 'w': data_offsets has a negative number"));
  EXPECT_TRUE(says(of(R"({"shape":[2],"data_offsets":[0,8]})"), "tensor 'w': it has no dtype"));
  EXPECT_TRUE(says(of(R"({"dtype":"F32","data_offsets":[0,8]})"), "tensor 'w': it has no shape"));
  EXPECT_TRUE(says(of(R"({"dtype":"F32","shape":[2]})"), "tensor 'w': it has no data_offsets"));
  EXPECT_TRUE(says(of(R"({"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]})"),
                   "tensor 'w': it has dtype twice"));
  EXPECT_TRUE(says(of(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":{}})"),
                   "tensor 'w': it has 'more', which no tensor has"));
}

TEST_F(safetensors_file, refuses_sizes_that_cannot_be) {
  auto const of = [&](std::string const& type, std::string const& shape,
                      std::string const& offsets) {
    return refusal(file_of("{\"w\":{\"dtype\":\"" + type + "\",\"shape\":" + shape +
                               ",\"data_offsets\":" + offsets + "}}",
                           "12345678"));
  };
  EXPECT_TRUE(says(of("F32", "[3]", "[0,8]"),
                   "tensor 'w': data_offsets [0, 8] are 8 bytes, but F32 [3] has 12"));
  EXPECT_TRUE(says(of("F32", "[2]", "[8,0]"), "data_offsets [8, 0] end before they begin"));
  EXPECT_TRUE(says(of("U8", "[16]", "[0,16]"), "reach beyond the data, 8 bytes"));
  EXPECT_TRUE(says(of("U8", "[8]", "[8,16]"), "reach beyond the data, 8 bytes"));
  EXPECT_TRUE(says(of("U8", "[7]", "[0,7]"), "the tensors have 7 bytes, and the data 8"));
  EXPECT_TRUE(
      says(of("U8", "[7]", "[1,8]"), "bytes 0 to 1 of the data, before tensor 'w', belong to no"));
  EXPECT_TRUE(says(of("F4", "[15]", "[0,8]"), "no whole number of bytes"));
  // 2^63 * 2, 2^32 * 2^32, 2^61 * 8 bits, and a product that comes round to 8 bytes.
  for (char const* shape : {"[9223372036854775808,2]", "[4294967296,4294967296]",
                            "[2305843009213693952]", "[9223372036854775809,2,4]"})
    EXPECT_TRUE(says(of("U8", shape, "[0,8]"), "is more than 2^64 bits"));
  EXPECT_TRUE(says(of("F32", "[2]", "[18446744073709551615,7]"), "end before they begin"));
}

TEST_F(safetensors_file, refuses_tensors_that_share_or_leave_bytes) {
  auto const tensor = [](char const* name, int first, int last) {
    return "\"" + std::string(name) + "\":{\"dtype\":\"U8\",\"shape\":[" +
           std::to_string(last - first) + "],\"data_offsets\":[" + std::to_string(first) + "," +
           std::to_string(last) + "]}";
  };
  auto const of = [&](std::string const& a, std::string const& b) {
    return refusal(file_of("{" + a + "," + b + "}", "12345678"));
  };
  EXPECT_EQ(of(tensor("b", 5, 8), tensor("a", 0, 5)), "not refused");
  EXPECT_TRUE(says(of(tensor("a", 0, 5), tensor("b", 4, 8)),
                   "tensor 'b': data_offsets [4, 8] overlap those of 'a', data_offsets [0, 5]"));
  EXPECT_TRUE(says(of(tensor("a", 0, 8), tensor("b", 2, 4)), "overlap those of 'a'"));
  EXPECT_TRUE(says(of(tensor("a", 0, 8), tensor("b", 0, 8)), "overlap those of 'a'"));
  EXPECT_TRUE(says(of(tensor("a", 0, 8), tensor("b", 2, 2)), "overlap those of 'a'"));
  EXPECT_TRUE(
      says(of(tensor("a", 0, 4), tensor("b", 5, 8)), "bytes 4 to 5 of the data, before tensor"));
  EXPECT_TRUE(says(of(tensor("a", 0, 4), tensor("a", 4, 8)), "tensor 'a' is there twice"));
  EXPECT_TRUE(says(of(tensor("a", 0, 4), tensor("\\u0061", 4, 8)), "tensor 'a' is there twice"));
}

TEST_F(safetensors_file, refuses_metadata_that_are_no_texts) {
  auto const of = [&](std::string const& value) {
    return refusal(file_of("{\"__metadata__\":" + value + "}", ""));
  };
  EXPECT_EQ(of("{}"), "not refused");
  EXPECT_EQ(of("null"), "not refused");
  EXPECT_TRUE(st::file(path).metadata().empty());
  EXPECT_EQ(of(R"({"a":"b"})"), "not refused");
  EXPECT_TRUE(says(of(R"({"a":1})"), "'__metadata__': 'a' is a number, not a string"));
  EXPECT_TRUE(says(of(R"({"a":null})"), "'__metadata__': 'a' is null, not a string"));
  EXPECT_TRUE(says(of(R"({"a":{}})"), "'__metadata__': 'a' is an object, not a string"));
  EXPECT_TRUE(says(of(R"({"a":"b","a":"b"})"), "'__metadata__' has 'a' twice"));
  for (char const* twice : {R"({"a":"b"},"__metadata__":{})", R"({},"__metadata__":null)",
                            R"(null,"__metadata__":{})", R"(null,"__metadata__":null)"})
    EXPECT_TRUE(says(of(twice), "'__metadata__' is there twice"));
  EXPECT_TRUE(says(of(R"({},"w":null)"), "tensor 'w': it is null, not an object"));
  EXPECT_TRUE(says(of("[]"), "'__metadata__': it is an array, not an object"));
}

TEST_F(safetensors_file, says_names_without_their_tricks) {
  EXPECT_TRUE(says(refusal(file_of("{\"a\\u001b[2J\\u009b\\n\":1}", "")),
                   "tensor 'a\\x1b[2J\\xc2\\x9b\\x0a'"));
  std::string const text = refusal(file_of("{\"" + std::string(100'000, 'n') + "\":1}", ""));
  EXPECT_LT(text.size(), 500U);
  EXPECT_LT(
      refusal(file_of("{\"w\":{\"shape\":[0." + std::string(100'000, '1') + "]}}", "")).size(),
      500U);
  EXPECT_LT(refusal(file_of("{\"w\":\"" + std::string(100'000, 'n'), "")).size(), 500U);
}

// Compares with the definition of UTF-8: every code point, and every sequence of up to three bytes
// whose first two are not plain text.
TEST(safetensors_printable, shows_utf8_and_no_more) {
  auto const utf8 = [](char32_t c) {
    auto const byte = [](char32_t x) { return static_cast<char>(static_cast<unsigned char>(x)); };
    auto const rest = [&](int shift) {
      return [=](char32_t x) { return byte(0x80 | (x >> shift & 0x3f)); };
    };
    if (c < 0x80) return std::string{byte(c)};
    if (c < 0x800) return std::string{byte(0xc0 | c >> 6), rest(0)(c)};
    if (c < 0x10000) return std::string{byte(0xe0 | c >> 12), rest(6)(c), rest(0)(c)};
    return std::string{byte(0xf0 | c >> 18), rest(12)(c), rest(6)(c), rest(0)(c)};
  };
  auto const escaped = [](std::string const& bytes) {
    std::string text;
    char piece[8];
    for (char const c : bytes) {
      std::snprintf(piece, sizeof piece, "\\x%02x",
                    static_cast<unsigned>(static_cast<unsigned char>(c)));
      text += piece;
    }
    return text;
  };
  auto const is_hidden = [](char32_t c) {
    auto const within = [&](char32_t first, char32_t last) { return c >= first && c <= last; };
    return within(0, 0x1f) || within(0x7f, 0x9f) || within(0x200b, 0x200f) ||
           within(0x2028, 0x202e) || within(0x2060, 0x206f) || within(0xe0000, 0xe0fff) ||
           within(0xfff9, 0xfffb) || c == 0xfeff || c == 0x61c || c == 0x180e;
  };
  std::set<std::string> valid;
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    std::string const text = utf8(c);
    if (c < 0x10000) valid.insert(text);
    ASSERT_EQ(st::detail::printable(text), is_hidden(c) ? escaped(text) : text) << std::uint32_t{c};
    ASSERT_EQ(st::detail::printable_pieces(text).size(), 1U);
  }
  for (unsigned a = 0x80; a < 0xf0; ++a) {
    for (unsigned b = 0x80; b < 0x100; ++b) {
      std::string const two{static_cast<char>(a), static_cast<char>(b)};
      if (!valid.contains(two)) {
        ASSERT_EQ(st::detail::printable(two), escaped(two));
      }
      for (unsigned c = 0x80; c < 0x100 && a >= 0xe0; ++c) {
        std::string const three = two + static_cast<char>(c);
        if (!valid.contains(three) && !valid.contains(three.substr(1))) {
          ASSERT_EQ(st::detail::printable(three), escaped(three));
        }
      }
    }
  }
  // Surrogates, sequences longer than their number needs, beyond the last, and cut off.
  for (std::string const text : {"\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf",
                                 "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf0\x9f\x98", "\xff"})
    EXPECT_EQ(st::detail::printable(text), escaped(text));
  EXPECT_EQ(st::detail::printable("\xc3(\xc3\xa4"), "\\xc3(\xc3\xa4");
}

TEST(safetensors_printable, is_not_cut_inside_a_character) {
  std::string const smile = "\xf0\x9f\x98\x80";
  for (std::size_t plain = 190; plain <= 200; ++plain) {
    std::string text(plain, 'a');
    for (int i = 0; i < 5; ++i) text += smile;
    std::string const shown = st::detail::printable(text);
    EXPECT_TRUE(shown.ends_with("...")) << shown;
    EXPECT_EQ(shown.find('\\'), shown.npos) << shown;
    EXPECT_EQ((shown.size() - 3 - plain) % 4, 0U);
    EXPECT_GT(shown.size(), 199U);
  }
  EXPECT_EQ(st::detail::printable(std::string(200, 'a')), std::string(200, 'a'));
  EXPECT_LT(st::detail::printable(std::string(1000, '\x80')).size(), 805U);
}

// A file with a little of everything.
void write_sample(std::string const& path) {
  st::writer out(path,
                 {{.name = "w", .type = st::dtype::f32, .shape = {2, 3}},
                  {.name = "h", .type = st::dtype::bf16, .shape = {3}},
                  {.name = "none", .type = st::dtype::f16, .shape = {0, 9}},
                  {.name = "s", .type = st::dtype::u8}},
                 {{"step", "12"}});
  std::vector<std::byte> bytes(31);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i + 1);
  out.append_bytes("s", std::span(bytes).last(1));
  out.append_bytes("w", std::span(bytes).first(10));
  out.append_bytes("h", std::span(bytes).subspan(24, 6));
  out.append_bytes("w", std::span(bytes).subspan(10, 14));
  out.finish();
}

// That what a reader accepted can be true, found again with other arithmetic.
testing::AssertionResult is_consistent(st::file const& file, std::size_t file_bytes,
                                       std::size_t header_bytes) {
  std::vector<int> owners(file_bytes - 8 - header_bytes);
  for (st::tensor const& t : file.tensors()) {
    long double bits = bits_of(t.type);  // exact wherever it is as small as it should be
    for (std::uint64_t const extent : t.shape) bits *= static_cast<long double>(extent);
    if (t.end < t.begin || t.end > owners.size() ||
        bits != static_cast<long double>(8 * (t.end - t.begin)))
      return testing::AssertionFailure() << t.name << " has a wrong size";
    for (std::uint64_t i = t.begin; i < t.end; ++i) ++owners[i];
    std::vector<std::byte> bytes(t.end - t.begin);
    file.read_bytes(t, 0, bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (bytes[i] != static_cast<std::byte>(t.begin + i + 1))
        return testing::AssertionFailure() << t.name << " has other bytes";
    if (&file.at(t.name) != &t)
      return testing::AssertionFailure() << t.name << " is found elsewhere";
  }
  for (int const count : owners)
    if (count != 1) return testing::AssertionFailure() << "a byte has " << count << " owners";
  return testing::AssertionSuccess();
}

class safetensors_damage : public safetensors_file {
 protected:
  void SetUp() override {
    write_sample(path);
    whole = contents(path);
    header_bytes =
        static_cast<unsigned char>(whole[0]) + 256U * static_cast<unsigned char>(whole[1]);
  }
  std::string whole;
  std::size_t header_bytes = 0;
};

TEST_F(safetensors_damage, in_no_byte_of_the_header_is_accepted_unless_consistent) {
  ASSERT_TRUE(is_consistent(st::file(path), whole.size(), header_bytes));
  std::fstream out(path, std::ios::binary | std::ios::in | std::ios::out);
  auto const set = [&](std::size_t at, char byte) {
    out.seekp(static_cast<long>(at)).put(byte).flush();
  };
  int accepted = 0;
  for (std::size_t at = 0; at < 8 + header_bytes; ++at) {
    for (int change = 1; change < 256; ++change) {
      set(at, static_cast<char>(whole[at] ^ change));
      try {
        st::file const file(path);
        ++accepted;
        // A mutated length would have to leave a whole header.
        ASSERT_GE(at, 8U);
        ASSERT_TRUE(is_consistent(file, whole.size(), header_bytes)) << at << ' ' << change;
      } catch (std::runtime_error const&) {
      }
    }
    set(at, whole[at]);
  }
  // Letters of names, digits that say the same, types of the same width, spaces.
  EXPECT_GT(accepted, 100);
}

TEST_F(safetensors_damage, by_truncation_or_growth_is_refused) {
  for (std::size_t size = 0; size < whole.size(); ++size)
    ASSERT_NE(refusal(whole.substr(0, size)), "not refused") << size;
  EXPECT_TRUE(says(refusal(whole.substr(0, whole.size() - 1)), "reach beyond the data, 30 bytes"));
  EXPECT_TRUE(says(refusal(whole + '\0'), "the tensors have 31 bytes, and the data 32"));
}

TEST_F(safetensors_damage, after_opening_is_found_in_reading) {
  st::file const file(path);
  // Within the tensor, and long before it.
  for (std::size_t const size : {whole.size() - 3, std::size_t{5}}) {
    set_contents(path, whole.substr(0, size));
    EXPECT_TRUE(says(refusal_of([&] { static_cast<void>(file.read<std::uint8_t>(file.at("s"))); }),
                     "tensor 's': the file has been cut to " + std::to_string(size) + " bytes"));
  }
}

TEST_F(safetensors_damage, of_the_disk_is_told) {
  st::file const file(path);
  auto const refusal = [&] {
    return refusal_of([&] { static_cast<void>(file.read<std::uint8_t>(file.at("s"))); });
  };
  errors_of_pread = {EINTR, EINTR};
  EXPECT_EQ(refusal(), "not refused");
  interrupted_opens = 2;
  EXPECT_EQ(st::file(path).tensors().size(), file.tensors().size());
  errors_of_pread = {EIO};
  EXPECT_TRUE(says(refusal(), "tensor 's' cannot be read: Input/output error"));
  auto const bytes = file.read<std::uint8_t>(file.at("s"));
  reads_bytewise = true;
  EXPECT_EQ(st::file(path).read<std::uint8_t>(file.at("s")), bytes);
  reads_bytewise = false;
}

TEST_F(safetensors_file, can_be_assigned_and_is_closed) {
  auto const next_descriptor = [] {
    int const next = ::dup(0);
    ::close(next);
    return next;
  };
  int const before = next_descriptor();
  for (float const value : {1.0f, 2.0f}) {
    st::writer out(folder.file(std::to_string(value)), {{.name = "w"}});
    out.append("w", std::span(&value, 1));
    out.finish();
  }
  {
    st::file file(folder.file(std::to_string(1.0f)));
    file = st::file(folder.file(std::to_string(2.0f)));
    EXPECT_EQ(file.read<float>(file.at("w")), std::vector{2.0f});
  }
  EXPECT_EQ(next_descriptor(), before);
}

TEST_F(safetensors_damage, of_a_request_is_refused) {
  st::file other(path);
  st::file const file(std::move(other));
  st::tensor const& t = file.at("w");
  std::vector<float> out(6, -1.0f);
  EXPECT_EQ(refusal_of([&] { static_cast<void>(file.at("W")); }),
            "lowp::safetensors: '" + path + "': tensor 'W' is not there");
  EXPECT_EQ(file.find("W"), nullptr);
  EXPECT_EQ(file.find("zzz"), nullptr);
  EXPECT_TRUE(says(refusal_of([&] { static_cast<void>(file.read<std::uint32_t>(t)); }),
                   "tensor 'w' is F32, read as U32"));
  EXPECT_TRUE(says(refusal_of([&] { file.read(t, 1, std::span<float>(out)); }),
                   "6 elements from number 1 on were asked for, and it has 6"));
  EXPECT_TRUE(says(refusal_of([&] { file.read(t, ~std::uint64_t{0}, std::span<float>(out)); }),
                   "were asked for, and it has 6"));
  EXPECT_EQ(out, std::vector<float>(6, -1.0f));
  std::byte piece[2]{};
  EXPECT_TRUE(says(refusal_of([&] { file.read_bytes(t, 23, piece); }),
                   "2 bytes from number 23 on were asked for, and it has 24"));
}

TEST_F(safetensors_file, is_not_written_wrong) {
  auto const tensors = [](char const* name, std::vector<std::uint64_t> shape) {
    return std::vector<st::tensor>{{.name = name, .shape = std::move(shape)}};
  };
  std::vector<float> const four(4);
  auto const writing = [&](auto&& fn) {
    return refusal_of([&] {
      st::writer out(path, tensors("w", {2, 2}));
      fn(out);
    });
  };
  EXPECT_TRUE(
      says(writing([](auto& out) { out.finish(); }), "'w': 16 bytes have not been written"));
  EXPECT_TRUE(says(writing([&](auto& out) { out.append("v", std::span(four)); }),
                   "tensor 'v' was not announced"));
  EXPECT_TRUE(says(writing([&](auto& out) {
                     out.append("w", std::span(four).first(3));
                     out.append("w", std::span(four).first(2));
                   }),
                   "tensor 'w': 8 bytes are too many, 4 are missing"));
  EXPECT_TRUE(says(writing([&](auto& out) { out.append("w", std::span<double const>{}); }),
                   "tensor 'w' is F32, given elements of F64"));
  auto const announcing = [&](std::vector<st::tensor> t,
                              std::map<std::string, std::string> m = {}) {
    return refusal_of([&] { st::writer const out(path, std::move(t), std::move(m)); });
  };
  EXPECT_TRUE(
      says(announcing(tensors("__metadata__", {1})), "no tensor can be called '__metadata__'"));
  EXPECT_TRUE(says(announcing({{.name = "w"}, {.name = "w"}}), "tensor 'w' is there twice"));
  EXPECT_TRUE(says(announcing(tensors("w", {std::uint64_t{1} << 62, 8})), "is too large"));
  EXPECT_TRUE(says(announcing(tensors("\xff", {1})), "no UTF-8"));
  EXPECT_TRUE(says(announcing({}, {{"a", "\xc3"}}), "no UTF-8"));
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
