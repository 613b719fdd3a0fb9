// SPDX-License-Identifier: Apache-2.0
// cast over ranges of every size, start and kind.
#include <cstring>
#include <span>

#include "support.hpp"

namespace {

using namespace lowp_test;

template <class T>
std::uint32_t nearest(const oracle::number& x) {
  return oracle::encode(facts<T>, x, oracle::mode::nearest_even, oracle::default_policy(facts<T>));
}

// Patterns that are neither a result nor a canary by accident.
std::vector<float> some_floats(std::size_t size) {
  std::mt19937 random(59);
  std::vector<float> floats(size);
  for (float& x : floats) {
    const auto bits = static_cast<std::uint32_t>(random());
    x = float_of(random() % 4 == 0 ? bits : (bits & 0x83ffffffU) | 0x3c000000U);
  }
  return floats;
}

// A buffer with room around the part that a call may write.
template <class To>
class guarded {
 public:
  guarded(std::size_t start, std::size_t size)
      : bytes_(sizeof(To) * (start + size + room), canary), start_(start), size_(size) {}

  std::span<To> span() { return {reinterpret_cast<To*>(bytes_.data()) + start_, size_}; }
  To at(std::size_t i) const {
    To x;
    std::memcpy(&x, bytes_.data() + sizeof(To) * (start_ + i), sizeof x);
    return x;
  }
  bool is_untouched_around() const {
    const std::size_t first = sizeof(To) * start_;
    const std::size_t last = first + sizeof(To) * size_;
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      if ((i < first || i >= last) && bytes_[i] != canary) return false;
    }
    return true;
  }

 private:
  static constexpr unsigned char canary = 0xa5;
  static constexpr std::size_t room = 72;
  std::vector<unsigned char> bytes_;
  std::size_t start_, size_;
};

template <class T>
class cast : public testing::Test {};
TYPED_TEST_SUITE(cast, all_formats, by_format);

TYPED_TEST(cast, of_every_size_and_start_from_float) {
  using T = TypeParam;
  const std::vector<float> floats = some_floats(400);
  for (std::size_t size = 0; size <= 300; ++size) {
    const std::size_t in_start = size % 19;
    const std::size_t out_start = size * 7 % 71;
    guarded<T> out(out_start, size);
    lowp::cast(std::span(floats).subspan(in_start, size), out.span());
    for (std::size_t i = 0; i < size; ++i) {
      const float x = floats[in_start + i];
      ASSERT_TRUE(has_bits(out.at(i), nearest<T>(oracle::from(x)), x, "element", i, "of", size));
    }
    ASSERT_TRUE(out.is_untouched_around()) << size;
  }
}

TYPED_TEST(cast, of_every_size_and_start_to_float) {
  using T = TypeParam;
  std::vector<T> narrow;
  codes<T> random(61);
  for (int i = 0; i < 400; ++i) narrow.push_back(random.next());
  for (std::size_t size = 0; size <= 300; ++size) {
    const std::size_t in_start = size % 67;
    guarded<float> out(size * 5 % 17, size);
    lowp::cast(std::span(narrow).subspan(in_start, size), out.span());
    for (std::size_t i = 0; i < size; ++i) {
      const T x = narrow[in_start + i];
      const std::uint32_t expected = oracle::decode_to_float_bits(facts<T>, x.bits());
      ASSERT_TRUE(has_bits(out.at(i), expected, x, "element", i, "of", size));
    }
    ASSERT_TRUE(out.is_untouched_around()) << size;
  }
}

template <class From, class To>
std::uint32_t expected_code(From x) {
  // The same format copies bits, those of a NaN too.
  return std::same_as<From, To> ? x.bits() : nearest<To>(oracle::decode(facts<From>, x.bits()));
}

template <class From, class To>
void check_one_by_one() {
  for (std::uint32_t code = 0; code < code_count<From>; ++code) {
    const From x = of_code<From>(code);
    const To got = lowp::convert<To>(x);
    ASSERT_TRUE(has_bits(got, expected_code<From, To>(x), facts<From>.name, x));
    ASSERT_TRUE(has_bits(To(x), got.bits(), facts<From>.name, x));
  }
}

template <class From, class To>
void check_span() {
  std::vector<From> in;
  for (std::uint32_t code = 0; code < code_count<From>; ++code) in.push_back(of_code<From>(code));
  std::vector<To> out(in.size());
  lowp::cast(in, out);
  for (const From x : in) {
    ASSERT_TRUE(has_bits(out[x.bits()], expected_code<From, To>(x), facts<From>.name, x));
  }
}

TYPED_TEST(cast, of_all_codes_to_every_format) {
  types_of<all_formats>::for_each(
      [](auto to) { check_one_by_one<TypeParam, typename decltype(to)::type>(); });
}

// A span is decoded without regard to what it becomes, and encoded without regard to what it was,
// so each format needs to meet only every element size and every way of decoding and encoding.
TYPED_TEST(cast, of_spans_of_all_codes) {
  using partners =
      testing::Types<lowp::bfloat16, lowp::float16, lowp::float8_e4m3fnuz, lowp::float8_e8m0fnu>;
  types_of<partners>::for_each([](auto other) {
    using U = typename decltype(other)::type;
    check_span<TypeParam, U>();
    check_span<U, TypeParam>();
  });
}

// Identical storage is allowed for elements of one size.
template <class From, class To>
void check_in_place(std::size_t size) {
  std::vector<From> in;
  codes<From> random(67);
  for (std::size_t i = 0; i < size; ++i) in.push_back(random.next());
  guarded<To> storage(3, size);
  std::memcpy(static_cast<void*>(storage.span().data()), in.data(), size * sizeof(From));
  const std::span<From> source(reinterpret_cast<From*>(storage.span().data()), size);
  lowp::cast(source, storage.span(), lowp::upward{});
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint32_t expected = lowp::convert<To>(in[i], lowp::upward{}).bits();
    ASSERT_TRUE(has_bits(storage.at(i), expected, in[i], "element", i, "of", size));
  }
  ASSERT_TRUE(storage.is_untouched_around());
}

TEST(cast_in_place, between_formats_of_one_size) {
  for (const std::size_t size : {0U, 1U, 5U, 16U, 33U, 64U, 200U, 1000U}) {
    check_in_place<lowp::bfloat16, lowp::float16>(size);
    check_in_place<lowp::float16, lowp::bfloat16>(size);
    check_in_place<lowp::float8_e4m3fn, lowp::float8_e5m2fnuz>(size);
    check_in_place<lowp::float6_e2m3fn, lowp::float8_e8m0fnu>(size);
    check_in_place<lowp::float16, lowp::float16>(size);
  }
}

TEST(cast_between_floats, copies_bits) {
  std::vector<float> in{0.0F, -0.0F, 1.5F, float_of(0x7f800001), float_of(0xffc12345), float_of(1)};
  std::vector<float> out(in.size());
  lowp::cast(in, out, lowp::toward_zero{}, lowp::overflow::saturate);
  EXPECT_EQ(std::memcmp(in.data(), out.data(), in.size() * sizeof(float)), 0);
  lowp::cast(in, in);
  EXPECT_EQ(std::memcmp(in.data(), out.data(), in.size() * sizeof(float)), 0);
  lowp::cast(in, out, lowp::stochastic{.seed = 1});
  EXPECT_EQ(std::memcmp(in.data(), out.data(), in.size() * sizeof(float)), 0);
}

}  // namespace
