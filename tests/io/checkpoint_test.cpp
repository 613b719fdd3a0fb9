// SPDX-License-Identifier: Apache-2.0
// Training goes on from a file as if it had never stopped, in any storage. A file that does not fit
// is refused before anything is written.
#include <gtest/gtest.h>
#include <lowp/cast.hpp>
#include <lowp/checkpoint.hpp>
#include <lowp/update.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "support/killed.hpp"
#include "support/scratch.hpp"
#include "support/support.hpp"

namespace {

using namespace lowp_test;
using lowp::bfloat16, lowp::float16, lowp::float8_e4m3fn, lowp::float8_e5m2;

constexpr std::size_t size = 300;  // more than two blocks of 128, and no whole number of them

template <class T>
std::vector<T> filled(float value) {
  return std::vector<T>(size, T(value));
}

// Ways to keep `size` elements: what holds them, what update takes, and what a step changes after
// it.
template <class T>
struct plain {
  std::vector<T> values = filled<T>(0);
  void set(std::size_t i, float x) { values[i] = T(x); }
  auto storage() { return std::span(values); }
  auto& saved() { return values; }
  void next() {}
};
struct in_kahan {
  std::vector<bfloat16> value = filled<bfloat16>(0), rest = filled<bfloat16>(0);
  void set(std::size_t i, float x) { value[i] = bfloat16(x); }
  auto storage() { return lowp::kahan{value, rest}; }
  auto saved() { return storage(); }
  void next() {}
};
struct in_master {
  std::vector<float> weights = filled<float>(0);
  std::vector<bfloat16> copy = filled<bfloat16>(0);
  void set(std::size_t i, float x) { weights[i] = x; }
  auto storage() { return lowp::master{weights, copy}; }
  auto saved() { return storage(); }
  void next() {}
};
template <class H, class L>
struct in_halves {
  std::vector<H> high = filled<H>(0);
  std::vector<L> low = std::vector<L>(size);
  void set(std::size_t i, float x) { high[i] = H(x); }
  auto storage() { return lowp::split_master{high, low}; }
  auto saved() { return storage(); }
  void next() {}
};
template <class T>
struct with_scale {
  std::vector<T> codes = filled<T>(0);
  lowp::scaled<T> held{codes, 64.0f};
  with_scale() = default;
  with_scale(with_scale const&) = delete;
  with_scale& operator=(with_scale const&) = delete;
  void set(std::size_t i, float x) { codes[i] = T(x * held.scale); }
  auto& storage() { return held; }
  auto& saved() { return held; }
  // The scale goes up and down, so that one that was not loaded would show.
  void next() {
    held.scale = held.next;
    held.next = held.scale < 100 ? held.scale * 2 : 32;
  }
};
template <class T, int Block>
struct in_blocks {
  static constexpr std::size_t blocks = (size + Block - 1) / Block;
  std::vector<T> codes = filled<T>(0);
  std::vector<lowp::float8_e8m0fnu> scales =
      std::vector<lowp::float8_e8m0fnu>(blocks, lowp::float8_e8m0fnu(1));
  auto storage() { return lowp::blocks_of<Block>(codes, scales); }
  auto saved() { return storage(); }
  void next() {}
};

template <class T>
void append(std::string& to, std::vector<T> const& values) {
  to.append(reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T));
}

// A model of one tensor: a parameter, its moments, and the scalars of its training.
template <class P, class... Moment>
struct model {
  P p{};
  std::tuple<Moment...> moments{};
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  double lr = 0;
  float loss_scale = 1;

  void start() {
    std::mt19937 random(9);
    std::normal_distribution<float> normal(0, 0.02f);
    for (std::size_t i = 0; i < size; ++i) p.set(i, normal(random));
    seed = 0xfedcba9876543210;
    lr = 0.1 / 3;
  }
  void train(int steps) {
    for (int i = 0; i < steps; ++i) {
      ++step;
      lr *= 0.97;
      loss_scale *= 1.1f;
      std::vector<float> g(size);
      std::mt19937_64 random(seed + step);
      std::normal_distribution<float> normal(0, loss_scale);
      for (float& x : g) x = normal(random);
      lowp::stochastic const rounding{.seed = seed, .stream = lowp::stream_of(3, 0)};
      auto&& held = p.storage();
      std::apply(
          [&](auto&... m) {
            if constexpr (sizeof...(Moment) == 2)
              lowp::update(held, g, m.storage()..., lowp::adamw{.lr = lr}, step, rounding);
            else
              lowp::update(held, g, m.storage()..., lowp::sgd{.lr = lr, .momentum = 0.9}, step,
                           rounding);
            (m.next(), ...);
          },
          moments);
      p.next();
    }
  }
  void describe(lowp::checkpoint& to, std::string const& name = "layer.0.weight") {
    std::apply([&](auto&... m) { to.parameter(name, {size / 3, 3}, p.saved(), m.saved()...); },
               moments);
    to.scalar("seed", seed).scalar("step", step).scalar("lr", lr).scalar("loss scale", loss_scale);
  }
  // Every byte of it, by way of no file.
  std::string bytes() {
    std::string all;
    auto const part = [&](auto& kept) {
      using kept_type = std::remove_reference_t<decltype(kept)>;
      if constexpr (requires { kept.values; }) append(all, kept.values);
      if constexpr (requires { kept.rest; }) append(append_(all, kept.value), kept.rest);
      if constexpr (requires { kept.weights; }) append(append_(all, kept.weights), kept.copy);
      if constexpr (requires { kept.low; }) append(append_(all, kept.high), kept.low);
      if constexpr (requires { kept.codes; }) append(all, kept.codes);
      if constexpr (requires { kept.scales; }) append(all, kept.scales);
      if constexpr (requires { kept.held; })
        append(all, std::vector<float>{kept.held.scale, kept.held.next});
      static_assert(!std::is_empty_v<kept_type>);
    };
    part(p);
    std::apply([&](auto&... m) { (part(m), ...); }, moments);
    append(all, std::vector<std::uint64_t>{seed, step});
    append(all, std::vector<double>{lr, double{loss_scale}});
    return all;
  }

 private:
  template <class T>
  static std::string& append_(std::string& to, std::vector<T> const& values) {
    append(to, values);
    return to;
  }
};

template <class Model>
class resume : public testing::Test {};
using models = first_or_all<
    2, testing::Types<model<in_kahan, plain<bfloat16>, in_blocks<float8_e4m3fn, 128>>,
                      model<in_master, with_scale<float8_e4m3fn>, with_scale<float16>>,
                      model<in_halves<bfloat16, std::uint16_t>, plain<bfloat16>>,
                      model<plain<float>, plain<float>, plain<float>>,
                      model<plain<bfloat16>, plain<bfloat16>, plain<bfloat16>>,
                      model<plain<lowp::float8_e3m4>, plain<lowp::float8_e4m3b11fnuz>>,
                      model<in_halves<bfloat16, std::uint8_t>, in_blocks<float8_e5m2, 32>>,
                      model<in_halves<float16, std::uint16_t>, plain<float16>>,
                      model<with_scale<float8_e5m2>, in_blocks<float8_e4m3fn, 256>>>>;
TYPED_TEST_SUITE(resume, models);

TYPED_TEST(resume, is_exact) {
  scratch_folder const folder;
  std::string const path = folder.file("state.safetensors");
  TypeParam whole;
  whole.start();
  whole.train(5);
  std::string const after_five = whole.bytes();
  {
    TypeParam first;
    first.start();
    first.train(5);
    lowp::checkpoint state;
    first.describe(state);
    state.save(path);
    ASSERT_EQ(first.bytes(), after_five);
  }
  TypeParam second;
  lowp::checkpoint state;
  second.describe(state);
  ASSERT_NE(second.bytes(), after_five);
  state.load(path);
  ASSERT_EQ(second.bytes(), after_five);
  whole.train(5);
  second.train(5);
  EXPECT_EQ(second.bytes(), whole.bytes());
  EXPECT_NE(whole.bytes(), after_five);

  // A saved file, loaded and saved again, is equal to the last byte.
  state.save(folder.file("second"));
  lowp::checkpoint other;
  whole.describe(other);
  other.save(folder.file("whole"));
  EXPECT_EQ(contents(folder.file("second")), contents(folder.file("whole")));
}

template <class Fn>
std::string refusal_of(Fn&& fn) {
  try {
    fn();
  } catch (std::exception const& error) {
    return error.what();
  }
  return "not refused";
}

class checkpoint_file : public testing::Test {
 protected:
  using small = model<in_kahan, plain<bfloat16>, in_blocks<float8_e4m3fn, 128>>;

  void SetUp() override {
    saved.start();
    saved.train(2);
    lowp::checkpoint state;
    saved.describe(state);
    state.save(path);
  }
  // The error of loading `state`, which must leave `target` alone.
  std::string refusal(lowp::checkpoint const& state) {
    std::string const before = target.bytes();
    std::string text = refusal_of([&] { state.load(path); });
    EXPECT_EQ(target.bytes(), before);
    return text;
  }
  testing::AssertionResult refuses(lowp::checkpoint const& state, std::string const& why) {
    std::string const text = refusal(state);
    if (text == "lowp::checkpoint: '" + path + "': " + why) return testing::AssertionSuccess();
    return testing::AssertionFailure() << text;
  }
  // The file with other metadata.
  void rewrite(std::string const& key, char const* value) {
    lowp::safetensors::file const file(path);
    auto metadata = file.metadata();
    if (value == nullptr)
      metadata.erase(key);
    else
      metadata[key] = value;
    lowp::safetensors::writer out(path, file.tensors(), metadata);
    for (auto const& t : file.tensors()) {
      std::vector<std::byte> bytes(t.end - t.begin);
      file.read_bytes(t, 0, bytes);
      out.append_bytes(t.name, bytes);
    }
    out.finish();
  }

  scratch_folder folder;
  std::string const path = folder.file("state.safetensors");
  small saved, target;
};

TEST_F(checkpoint_file, of_another_model_is_refused_by_name) {
  lowp::checkpoint state;
  target.describe(state, "layer.1.weight");
  EXPECT_TRUE(refuses(state, "tensor 'layer.1.weight' is missing"));

  // All that is in the file is right, and there is one more.
  std::vector<float> bias(3);
  lowp::checkpoint more;
  target.describe(more);
  more.tensor("zzz.bias", bias);
  EXPECT_TRUE(refuses(more, "tensor 'zzz.bias' is missing"));

  lowp::checkpoint less;
  less.tensor("layer.0.weight", {100, 3}, target.p.saved());
  EXPECT_TRUE(refuses(less, "tensor 'layer.0.weight.m' is not in this model"));
}

TEST_F(checkpoint_file, of_another_shape_type_or_format_is_refused_by_name) {
  auto const with = [&](auto&& fn) {
    lowp::checkpoint state;
    fn(state);
    return refusal_of([&] { state.load(path); })
        .substr(std::strlen("lowp::checkpoint: '': ") + path.size());
  };
  std::string const w = "layer.0.weight";
  EXPECT_EQ(with([&](auto& s) { s.parameter(w, {3, 100}, target.p.saved()); }),
            "tensor 'layer.0.weight' is BF16 [100, 3], not BF16 [3, 100]");
  std::vector<float16> half(size);
  EXPECT_EQ(with([&](auto& s) { s.tensor(w, {100, 3}, half); }),
            "tensor 'layer.0.weight' is BF16 [100, 3], not F16 [100, 3]");
  std::vector<lowp::float8_e8m0fnu> scales(10);
  auto& v = std::get<1>(target.moments);
  EXPECT_EQ(with([&](auto& s) {
              s.parameter(w, {100, 3}, target.p.saved(), std::get<0>(target.moments).saved(),
                          lowp::blocks_of<32>(v.codes, scales));
            }),
            "tensor 'layer.0.weight.v.scales' is F8_E8M0 [3], not F8_E8M0 [10]");
  // Codes that the format has no name for are told apart, too.
  std::vector<lowp::float8_e3m4> a(3);
  std::vector<lowp::float8_e4m3b11fnuz> b(3);
  std::vector<std::uint8_t> c(3);
  lowp::checkpoint state;
  state.tensor("a", a).save(path);
  EXPECT_EQ(with([&](auto& s) { s.tensor("a", b); }),
            "tensor 'a' has the format 'e3m4 bias 3 specials ieee', not 'e4m3 bias 11 specials "
            "nan_negative_zero'");
  EXPECT_EQ(with([&](auto& s) { s.tensor("a", c); }),
            "tensor 'a' has the format 'e3m4 bias 3 specials ieee', not ''");
}

// A file with one tensor `a` of three codes, and this header.
std::string file_of(std::string const& format) {
  std::string header = R"({"__metadata__":{"format.a":")" + format +
                       R"(","lowp.checkpoint":"1"},"a":{"dtype":"U8","shape":[3],)" +
                       R"("data_offsets":[0,3]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string bytes(8, '\0');
  for (int i = 0; i < 2; ++i) bytes[i] = static_cast<char>(header.size() >> 8 * i);
  return bytes + header + "\1\2\3";
}

template <class T>
class checkpoint_format : public testing::Test {};
using formats_without_dtype = testing::Types<lowp::float8_e3m4, lowp::float8_e4m3b11fnuz,
                                             user_e2m1fnuz, user_e3m2fn, lowp::float6_e2m3fn>;
TYPED_TEST_SUITE(checkpoint_format, formats_without_dtype, by_format);

TYPED_TEST(checkpoint_format, is_read_by_name_and_as_older_files_have_it) {
  constexpr lowp::format F = TypeParam::descriptor;
  std::string const facts = "e" + std::to_string(F.exponent_bits) + "m" +
                            std::to_string(F.significand_bits) + " bias " + std::to_string(F.bias) +
                            " specials ";
  std::string const names[] = {"ieee", "nan_all_ones", "nan_negative_zero", "none"};
  scratch_folder const folder;
  std::string const path = folder.file("s");
  std::vector<TypeParam> codes(3);
  lowp::checkpoint state;
  state.tensor("a", codes).save(path);
  EXPECT_EQ(lowp::safetensors::file(path).metadata().at("format.a"),
            facts + names[static_cast<std::size_t>(F.special_values)]);
  for (std::size_t i = 0; i < 4; ++i) {
    bool const fits = i == static_cast<std::size_t>(F.special_values);
    for (std::string const& word : {std::to_string(i), names[i]}) {
      codes.assign(3, TypeParam{});
      set_contents(path, file_of(facts + word));
      std::string const text = refusal_of([&] { state.load(path); });
      EXPECT_EQ(text, fits ? "not refused"
                           : "lowp::checkpoint: '" + path + "': tensor 'a' has the format '" +
                                 facts + names[i] + "', not '" + facts +
                                 names[static_cast<std::size_t>(F.special_values)] + "'");
      EXPECT_EQ(codes[1].bits(), fits ? 2U : 0U);
    }
  }
  for (std::string const word : {"4", "00", "", "IEEE", "ieee ", "two_nans"}) {
    set_contents(path, file_of(facts + word));
    EXPECT_EQ(refusal_of([&] { state.load(path); }),
              "lowp::checkpoint: '" + path + "': tensor 'a' has the format '" + facts + word +
                  "', and its specials '" + word + "' are unknown here");
  }
}

// Loads codes whose bits are all set, then files that have one more bit in one place.
template <class T>
void expect_no_code_beyond_its_bits() {
  constexpr lowp::format F = T::descriptor;
  constexpr std::size_t count = 1 << 17;
  scratch_folder const folder;
  std::string const path = folder.file("s");
  T const full = T::from_bits(static_cast<typename T::storage>(F.code_mask()));
  std::vector<T> codes(count, full);
  lowp::checkpoint state;
  state.tensor("a", codes).save(path);
  codes.assign(count, T{});
  state.load(path);
  EXPECT_EQ(std::ranges::count(codes, full.bits(), &T::bits), count);
  codes.assign(count, T{});
  std::string const file = contents(path);
  for (std::size_t const place : {std::size_t{0}, count / 2, count - 1}) {
    std::string wrong = file;
    char& last = wrong[wrong.size() - (count - place) * sizeof(T) + sizeof(T) - 1];
    last = static_cast<char>(last | 1 << F.bits() % 8);
    set_contents(path, wrong);
    EXPECT_EQ(refusal_of([&] { state.load(path); }),
              "lowp::checkpoint: '" + path + "': element " + std::to_string(place) +
                  " of tensor 'a' has more bits than the format '" + lowp::detail::format_text(F) +
                  "': its last byte is " + std::to_string((2 << F.bits() % 8) - 1));
    EXPECT_EQ(codes[place].bits(), 0U);
  }
}
TEST(checkpoint_codes, have_no_bits_beyond_their_format) {
  expect_no_code_beyond_its_bits<user_e2m1fnuz>();
  expect_no_code_beyond_its_bits<lowp::float6_e2m3fn>();
  expect_no_code_beyond_its_bits<user_e5m4>();  // of two bytes
}

// A file that an older version wrote.
TEST(checkpoint_of_an_older_version, is_read) {
  scratch_folder const folder;
  std::string const path = folder.file("s");
  constexpr char header[] =
      R"({"__metadata__":{"format.a":"e3m4 bias 3 specials 0","format.b":"e2m3 bias 1 specials 3",)"
      R"("lowp.checkpoint":"1","scalar.step":"7"},"a":{"dtype":"U8","shape":[3],)"
      R"("data_offsets":[0,3]},"b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}}      )";
  static_assert(sizeof header == 0xf0 + 1);
  set_contents(path, std::string("\xf0\0\0\0\0\0\0\0", 8) + header + "\x30\xc4\x01\x1f");
  std::vector<lowp::float8_e3m4> a(3);
  std::vector<lowp::float6_e2m3fn> b(1);
  int step = 0;
  lowp::checkpoint state;
  state.tensor("a", a).tensor("b", b).scalar("step", step).load(path);
  EXPECT_EQ(a, (std::vector<lowp::float8_e3m4>{lowp::float8_e3m4(1), lowp::float8_e3m4(-2.5),
                                               lowp::float8_e3m4(0x1p-6)}));
  EXPECT_EQ(b[0], lowp::float6_e2m3fn(7.5));
  EXPECT_EQ(step, 7);

  std::vector<lowp::float8_e4m3b11fnuz> other(3);
  lowp::checkpoint another;
  another.tensor("a", other).tensor("b", b).scalar("step", step);
  EXPECT_EQ(refusal_of([&] { another.load(path); }),
            "lowp::checkpoint: '" + path +
                "': tensor 'a' has the format 'e3m4 bias 3 specials "
                "ieee', not 'e4m3 bias 11 specials nan_negative_zero'");
}

TEST_F(checkpoint_file, with_other_scalars_is_refused_by_name) {
  lowp::checkpoint state;
  target.describe(state);
  std::uint32_t extra = 5;
  lowp::checkpoint more;
  target.describe(more);
  more.scalar("extra", extra);
  EXPECT_TRUE(refuses(more, "scalar 'extra' is missing"));
  for (char const* text : {"", "x", "-1", "1.5", "18446744073709551616", "7 "}) {
    rewrite("scalar.step", text);
    EXPECT_TRUE(
        refuses(state, "scalar 'step' is '" + std::string(text) + "', which its type cannot hold"));
  }
  rewrite("scalar.step", nullptr);
  EXPECT_TRUE(refuses(state, "scalar 'step' is missing"));
  rewrite("scalar.step", "2");
  rewrite("scalar.other", "2");
  EXPECT_TRUE(refuses(state, "scalar 'other' is not in this model"));
  rewrite("scalar.other", nullptr);
  rewrite("note", "somebody's");
  EXPECT_NO_THROW(state.load(path));
}

TEST_F(checkpoint_file, of_another_generator_is_refused_by_name) {
  lowp::stochastic_fast keyed{.seed = 1, .stream = 2, .offset = 3};
  lowp::checkpoint state;
  target.describe(state);
  state.rounding("bits", keyed).save(path);
  lowp::stochastic philox{4};
  lowp::checkpoint other;
  target.describe(other);
  other.rounding("bits", philox);
  EXPECT_TRUE(refuses(other,
                      "scalar 'bits.generator' is 'Philox4x32-10, a key for 128 elements', not "
                      "'Philox4x32-10'"));
  EXPECT_EQ(philox.seed, 4U);
  keyed = {.seed = 0};
  state.load(path);
  EXPECT_EQ(keyed.seed, 1U);
  EXPECT_EQ(keyed.stream, 2U);
  EXPECT_EQ(keyed.offset, 3U);
  rewrite("scalar.bits.generator", nullptr);
  EXPECT_TRUE(refuses(state, "scalar 'bits.generator' is missing"));
}

TEST_F(checkpoint_file, of_another_version_or_kind_is_refused) {
  lowp::checkpoint state;
  target.describe(state);
  rewrite("lowp.checkpoint", "2");
  EXPECT_TRUE(refuses(state, "it is a checkpoint of version '2', not '1'"));
  rewrite("lowp.checkpoint", nullptr);
  EXPECT_TRUE(refuses(state, "it is no checkpoint: its metadata have no 'lowp.checkpoint'"));
}

TEST_F(checkpoint_file, cut_anywhere_is_refused) {
  lowp::checkpoint state;
  target.describe(state);
  std::string const whole = contents(path);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    set_contents(path, whole.substr(0, bytes));
    std::string const text = refusal(state);
    ASSERT_NE(text, "not refused") << bytes;
    ASSERT_NE(text.find(path), std::string::npos) << text;
  }
  set_contents(path, whole.substr(0, whole.size() - 1));
  EXPECT_NE(refusal(state).find("tensor 'layer.0.weight.v.scales': data_offsets"),
            std::string::npos);
}

TEST_F(checkpoint_file, survives_a_save_that_dies_at_any_byte_or_call) {
  std::string const old = contents(path);
  saved.train(1);
  lowp::checkpoint state;
  saved.describe(state);
  state.save(folder.file("new"));
  std::string const next = contents(folder.file("new"));
  ASSERT_NE(next, old);
  auto const save = [&] { state.save(path); };
  for (std::size_t bytes = 0; bytes < next.size(); bytes += bytes < 1300 ? 1 : 97) {
    ASSERT_EQ(save_with_limit(bytes, bytes % 2 ? at_limit::dies : at_limit::fails, save),
              bytes % 2 ? end::killed : end::refused);
    ASSERT_EQ(contents(path), old) << bytes;
  }
  for (int stops = 1;; ++stops) {
    end const how = save_with_stops(stops, save);
    if (how == end::unknown) GTEST_SKIP() << "no process may be watched here";
    std::string const found = contents(path);
    ASSERT_TRUE(found == old || found == next) << stops;
    if (how == end::saved) break;
    set_contents(path, old);
  }
  EXPECT_EQ(contents(path), next);
}

enum class wide_characters : char32_t {};

TEST(checkpoint_scalars, keep_every_bit) {
  using lowp::checkpoint_scalar;
  static_assert(checkpoint_scalar<char> && checkpoint_scalar<lowp::amax_algorithm>);
  static_assert(!checkpoint_scalar<wchar_t> && !checkpoint_scalar<char8_t> &&
                !checkpoint_scalar<wide_characters> && !checkpoint_scalar<std::string>);
  __extension__ using int128 = __int128;
  static_assert(!checkpoint_scalar<int128>);  // std::integral in -std=gnu++20
  scratch_folder const folder;
  std::string const path = folder.file("s");
  auto const expect_kept = [&]<class T>(T value) {
    T to = value;
    lowp::checkpoint state;
    state.scalar("x", to).save(path);
    std::memset(&to, 0x55, sizeof to);
    if constexpr (std::same_as<T, bool>) to = !value;
    state.load(path);
    EXPECT_EQ(std::memcmp(&to, &value, sizeof to), 0)
        << lowp::safetensors::file(path).metadata().at("scalar.x");
  };
  for (std::uint32_t const bits : {0U, 0x80000000U, 1U, 0x7f7fffffU, 0x7f800000U, 0xff800000U,
                                   0x7fc00000U, 0xffc12345U, 0x7f800001U, 0x3dcccccdU}) {
    expect_kept(float_of(bits));
    expect_kept(std::bit_cast<double>(std::uint64_t{bits} << 32 | bits));
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 100; ++i) expect_kept(std::bit_cast<double>(random()));
  expect_kept(std::numeric_limits<std::uint64_t>::max());
  expect_kept(std::numeric_limits<std::int64_t>::min());
  expect_kept(std::uint8_t{200});
  expect_kept(std::int8_t{-100});
  expect_kept(true);
  expect_kept(false);
  expect_kept(lowp::amax_algorithm::most_recent);
}

TEST(checkpoint_scalars, are_read_whole_or_refused) {
  using lowp::detail::parse_scalar;
  float x = 0;
  for (char const* text :
       {"", " 1", "1 ", "1,5", "0x1p3", "nan", "nan(0x)", "nan(0x7fc00000", "nan(0x3f800000)",
        "nan(0x17fc00000)", "nan(0x7fc00000z)", "1e999", "1e-999", "1e39", "1e-46"})
    EXPECT_FALSE(parse_scalar(text, &x)) << text;
  EXPECT_TRUE(parse_scalar("1e-3", &x));
  bool b = false;
  EXPECT_FALSE(parse_scalar("1", &b));
  std::int8_t small = 0;
  EXPECT_FALSE(parse_scalar("128", &small));
  EXPECT_TRUE(parse_scalar("-128", &small));
}

TEST(checkpoint_scalers, keep_their_history) {
  scratch_folder const folder;
  lowp::delayed_scale<float8_e4m3fn, 8> a{.margin = -3, .interval = 2, .length = 5};
  for (float const x : {1.0f, 3.0f, 0.25f, 7.0f}) a.update({float_bits(x)});
  lowp::delayed_scale<float8_e4m3fn, 8> b;
  lowp::checkpoint from;
  lowp::checkpoint to;
  from.scaler("g", a).save(folder.file("s"));
  to.scaler("g", b).load(folder.file("s"));
  for (float const x : {0.5f, 2.0f, 0.125f, 0.0625f, 0.5f, 0.5f, 0.25f}) {
    ASSERT_EQ(a.scale, b.scale);
    ASSERT_EQ(a.updates, b.updates);
    a.update({float_bits(x)});
    b.update({float_bits(x)});
  }
  EXPECT_EQ(a.scale, b.scale);
  EXPECT_NE(b.scale, 1.0f);
}

TEST(checkpoint_scalers, keep_what_is_known_of_overflow) {
  scratch_folder const folder;
  lowp::loss_scaler a{.scale = 1024, .growth_factor = 1.5, .growth_interval = 3};
  a.update();
  a.update();
  lowp::loss_scaler b;
  lowp::gradient_report overflowed;
  overflowed.count = 5;
  overflowed.nonfinite = 1;
  lowp::checkpoint from;
  lowp::checkpoint to;
  from.scaler("loss", a).save(folder.file("s"));
  to.scaler("loss", b).load(folder.file("s"));
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(a.scale, b.scale);
    ASSERT_EQ(a.growth_tracker, b.growth_tracker);
    ASSERT_EQ(a.updates, b.updates);
    for (lowp::loss_scaler* const each : {&a, &b}) {
      if (i == 3) each->observe("w", overflowed);
      each->update();
    }
  }
  EXPECT_EQ(a.skipped, 1U);
  EXPECT_EQ(b.skipped, 1U);

  // A step that overflowed is taken anew, from the file.
  to.load(folder.file("s"));
  b.observe("w", overflowed);
  ASSERT_TRUE(b.found_nonfinite());
  to.load(folder.file("s"));
  EXPECT_FALSE(b.found_nonfinite());
  b.update();
  EXPECT_EQ(b.scale, 1024 * 1.5f);
  EXPECT_EQ(b.skipped, 0U);
}

TEST(checkpoint_description, is_checked) {
  std::vector<float> w(6);
  int x = 0;
  lowp::checkpoint state;
  state.tensor("w", {2, 3}, w);
  EXPECT_EQ(refusal_of([&] { state.tensor("v", {2, 4}, w); }),
            "lowp::checkpoint: 'v' has 6 elements, but its shape is F32 [2, 4]");
  std::vector<float> none;
  EXPECT_EQ(refusal_of([&] { state.tensor("v", {1ULL << 32, 1ULL << 32}, none); }),
            "lowp::checkpoint: 'v' has 0 elements, but its shape is F32 [4294967296, 4294967296]");
  EXPECT_EQ(refusal_of([&] { state.tensor("v", {(1ULL << 63) + 3, 2}, w); }),
            "lowp::checkpoint: 'v' has 6 elements, but its shape is F32 [9223372036854775811, 2]");
  EXPECT_EQ(refusal_of([&] { state.tensor("w", w); }), "lowp::checkpoint: 'w' is there twice");
  EXPECT_EQ(refusal_of([&] { state.scalar("w", x); }), "lowp::checkpoint: 'w' is there twice");
}

}  // namespace
