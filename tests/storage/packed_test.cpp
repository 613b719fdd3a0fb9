// SPDX-License-Identifier: Apache-2.0
// Packed ranges beside ranges of one code a byte: same bits, at every length and place.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "support/packed.hpp"
#include "support/refusals.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;
using lowp::float4_e2m1fn;
using lowp::float6_e3m2fn;

template <class Kind>
class packed : public testing::Test {};
struct by_packed_kind {
  template <class Kind>
  static std::string GetName(int) {
    return facts<typename Kind::type>.name + std::string(Kind::is_split ? "_split" : "");
  }
};
using kinds = testing::Types<packed_kind<float4_e2m1fn, lowp::pair_order>,
                             packed_kind<float6_e3m2fn, lowp::pair_order>,
                             packed_kind<float4_e2m1fn, lowp::split_order>>;
TYPED_TEST_SUITE(packed, kinds, by_packed_kind);

// The order matters to casts alone: all operations have the same accessor.
template <class Kind>
class packed_pairs : public testing::Test {};
using pair_kinds = first_or_all<1, testing::Types<packed_kind<float4_e2m1fn, lowp::pair_order>,
                                                  packed_kind<float6_e3m2fn, lowp::pair_order>>>;
TYPED_TEST_SUITE(packed_pairs, pair_kinds, by_packed_kind);

constexpr std::size_t longest = 600;  // more than two batches of every backend

std::vector<float> numbers(std::size_t size, std::uint64_t seed) {
  std::vector<float> out(size);
  auto const codes = random_tensor<float>(size, seed, values::training, 3).codes;
  std::memcpy(out.data(), codes.data(), size * sizeof(float));
  return out;
}

// Calls fn(packed view, the same codes in bytes, floats) for each length, at both ends of a page.
// Compares the codes after it.
template <class Kind, class Fn>
void for_each_range(Fn const& fn) {
  using T = typename Kind::type;
  packed_pages<Kind> pages;
  for (std::size_t size = 0; size <= longest; size += Kind::unit) {
    auto const x = numbers(size, size);
    for (bool const at_end : {false, true}) {
      std::vector<T> codes(size);
      for (std::size_t i = 0; i < size; ++i) codes[i] = T(x[size - 1 - i]);
      auto const view = pages.put(codes, at_end, size % 7);
      fn(view, codes, x);
      ASSERT_TRUE(pages.holds(codes)) << size;
    }
  }
}

lowp::stochastic const draws{.seed = 7, .stream = 8, .offset = 9};
lowp::stochastic_fast const fast_draws{.seed = 7, .stream = 8, .offset = 9};

TYPED_TEST(packed, cast_writes_them) {
  for_each_range<TypeParam>([](auto const& view, auto& codes, auto const& x) {
    lowp::cast(x, view);
    lowp::cast(x, codes);
  });
  for_each_range<TypeParam>([](auto const& view, auto& codes, auto const& x) {
    lowp::cast(x, view, draws);
    lowp::cast(x, codes, draws);
  });
}

TYPED_TEST(packed, cast_reads_them) {
  using kind = TypeParam;
  using reading = lowp::packed<typename kind::type const, typename kind::order>;
  packed_pages<kind> pages;
  for (std::size_t size = 0; size <= longest; size += kind::unit) {
    std::vector<typename kind::type> codes(size);
    for (std::size_t i = 0; i < size; ++i)
      codes[i] =
          of_code<typename kind::type>(static_cast<std::uint32_t>(i * 7 % (1U << kind::bits)));
    auto const view = pages.put(codes, size % 2 == 0, size % 7);
    std::span<std::uint8_t const> const bytes(view.data(), view.size_bytes());
    std::vector<float> want(size), got(size);
    lowp::cast(codes, want);
    lowp::cast(reading(bytes, size), got);
    ASSERT_EQ(std::memcmp(got.data(), want.data(), size * sizeof(float)), 0) << size;
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(view[i].bits(), codes[i].bits()) << i;
  }
}

TYPED_TEST(packed_pairs, fused_add_reads_and_writes_them) {
  for_each_range<TypeParam>([](auto const& view, auto& codes, auto const&) {
    lowp::update_report report, want;
    lowp::fused_add(view, 2.0f, view, draws, report);
    lowp::fused_add(codes, 2.0f, codes, draws, want);
    ASSERT_EQ(report.stalled, want.stalled);
    ASSERT_EQ(report.overflowed, want.overflowed);
    ASSERT_EQ(report.applied_ratio(), want.applied_ratio());
  });
}

TYPED_TEST(packed_pairs, scaled_cast_and_transform_take_them) {
  using T = typename TypeParam::type;
  for_each_range<TypeParam>([](auto const& view, auto& codes, auto const& x) {
    lowp::amax largest, want;
    lowp::scaled_cast(x, view, 0.5f, largest);
    for (std::size_t i = 0; i < x.size(); ++i) {
      codes[i] = lowp::convert<T>(x[i] * 0.5f);
      want += lowp::amax{lowp::lanes::magnitude(x[i])};
    }
    ASSERT_EQ(largest.bits, want.bits > 0x7f800000U ? 0x7fc00000U : want.bits);
  });
  for_each_range<TypeParam>([](auto const& view, auto& codes, auto const& x) {
    auto const sum = [](auto const& a, auto const& b) { return lowp::lanes::add(a, b); };
    lowp::transform(sum, lowp::toward_zero{}, view, view, x);
    for (std::size_t i = 0; i < x.size(); ++i)
      codes[i] = lowp::convert<T>(float(codes[i]) + x[i], lowp::toward_zero{});
  });
}

TYPED_TEST(packed_pairs, moments_are_updated) {
  for_each_range<TypeParam>([](auto const& view, auto& codes, auto const& x) {
    auto p = numbers(x.size(), 1), q = p;
    lowp::sgd const sgd{.lr = 0.25, .momentum = 0.5};
    lowp::update(p, x, view, sgd, 2, fast_draws);
    lowp::update(q, x, codes, sgd, 2, fast_draws);
    ASSERT_EQ(std::memcmp(p.data(), q.data(), p.size() * sizeof(float)), 0);
  });
}

TYPED_TEST(packed_pairs, blocks_hold_them) {
  for_each_range<TypeParam>([](auto const& view, auto& codes, auto const& x) {
    std::vector<lowp::float8_e8m0fnu> scales((x.size() + 31) / 32), want(scales);
    lowp::block_cast(x, lowp::blocks_of<32>(view, scales), draws);
    lowp::block_cast(x, lowp::blocks_of<32>(codes, want), draws);
    ASSERT_EQ(std::memcmp(scales.data(), want.data(), scales.size()), 0);
    std::vector<float> back(x.size()), wanted(x.size());
    lowp::block_cast(lowp::blocks_of<32>(view, scales), back);
    lowp::block_cast(lowp::blocks_of<32>(codes, want), wanted);
    ASSERT_EQ(back, wanted);
  });
  for_each_range<TypeParam>([](auto const& view, auto& codes, auto const& x) {
    auto p = numbers(x.size(), 1), q = p;
    std::vector<lowp::float8_e8m0fnu> scales((x.size() + 31) / 32), want(scales);
    lowp::sgd const sgd{.lr = 0.25, .momentum = 0.5};
    lowp::update(p, x, lowp::blocks_of<32>(view, scales), sgd, 2, draws);
    lowp::update(q, x, lowp::blocks_of<32>(codes, want), sgd, 2, draws);
    ASSERT_EQ(std::memcmp(p.data(), q.data(), p.size() * sizeof(float)), 0);
    ASSERT_EQ(std::memcmp(scales.data(), want.data(), scales.size()), 0);
  });
}

TYPED_TEST(packed_pairs, census_counts_them) {
  for_each_range<TypeParam>([](auto const& view, auto& codes, auto const&) {
    lowp::range_census const got = lowp::census<lowp::float8_e4m3fn>(view);
    lowp::range_census const want = lowp::census<lowp::float8_e4m3fn>(codes);
    ASSERT_EQ(std::memcmp(&got, &want, sizeof got), 0);
    // Nothing has cleared what the last byte does not use.
    if (codes.size() * TypeParam::bits % 8 != 0)
      view.data()[codes.size() * TypeParam::bits / 8] &=
          static_cast<std::uint8_t>((1 << codes.size() * TypeParam::bits % 8) - 1);
  });
}

// A byte belongs to one shard, whatever the number of threads.
TYPED_TEST(packed, subranges_are_those_of_the_whole) {
  using kind = TypeParam;
  constexpr std::size_t unit = kind::is_split ? 32 : 8 / (kind::bits == 4 ? 4 : 2);
  auto const x = numbers(longest / 32 * 32, 3);
  std::vector<std::uint8_t> whole(kind::bytes_of(x.size())), shards(whole);
  typename kind::view const all(whole, x.size()), cut(shards, x.size());
  lowp::cast(x, all, draws);
  std::size_t step = unit;
  for (std::size_t first = 0; first < x.size(); first += step, step += unit) {
    std::size_t const count = std::min(step, x.size() - first);
    lowp::cast(std::span(x).subspan(first, count), cut.subspan(first, count), draws.after(first));
  }
  EXPECT_EQ(whole, shards);
  EXPECT_EQ(refusal_of([&] { static_cast<void>(all.subspan(unit - 1, 1)); }),
            "lowp::packed::subspan: element " + std::to_string(unit - 1) +
                " begins no byte; that takes a multiple of " + std::to_string(unit));
  EXPECT_EQ(refusal_of([&] { static_cast<void>(all.subspan(0, x.size() + 1)); }),
            "lowp::packed::subspan: elements 0 to 0 + 577 of 576");
  EXPECT_EQ(refusal_of([&] { static_cast<void>(all.subspan(0, unit + 1)); }),
            "lowp::packed::subspan: element " + std::to_string(unit + 1) +
                " begins no byte; that takes a multiple of " + std::to_string(unit));
  typename kind::view const too_short{std::span(whole).first(100), x.size()};
  EXPECT_EQ(refusal_of([&] { static_cast<void>(too_short.subspan(512, 64)); }),
            "lowp::packed::subspan: 576 elements of " + std::to_string(kind::bits) + " bits need " +
                std::to_string(whole.size()) + " bytes, not 100");
}

TEST(packed_codes, of_constants_may_share_a_byte_with_the_next) {
  std::vector<std::uint8_t> const bytes{0x21, 0x43};
  std::vector<float> x(3);
  lowp::cast(lowp::packed<float4_e2m1fn const>(bytes, 4).subspan(0, 3), x);
  EXPECT_EQ(x, (std::vector<float>{0.5f, 1, 1.5f}));
}

TEST(packed_codes, may_become_each_other_in_place) {
  std::vector<std::uint8_t> bytes(300), want(300);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 37);
  lowp::packed<float6_e3m2fn> const from(bytes, 400);
  lowp::packed<lowp::float6_e2m3fn> const to(bytes, 400), apart(want, 400);
  lowp::cast(from, apart);
  lowp::cast(from, to);
  EXPECT_EQ(bytes, want);
  using split = lowp::packed<float4_e2m1fn, lowp::split_order>;
  std::span<std::uint8_t> const here{bytes.data(), 160}, there{want.data(), 160};
  lowp::packed<float4_e2m1fn> const pairs(here, 320);
  lowp::cast(pairs, split(there, 320));
  lowp::cast(pairs, split(here, 320));
  EXPECT_TRUE(std::ranges::equal(here, there));
}

TEST(packed_codes, are_refused_by_name_and_size) {
  std::vector<float> x(7);
  std::vector<std::uint8_t> bytes(4);
  using view = lowp::packed<float4_e2m1fn>;
  EXPECT_EQ(refusal_of([&] { lowp::cast(x, view(std::span(bytes).first(3), 7)); }),
            "lowp::cast: out: 7 elements of 4 bits need 4 bytes, not 3");
  EXPECT_EQ(refusal_of([&] { lowp::cast(view(bytes, 9), x); }),
            "lowp::cast: in: 9 elements of 4 bits need 5 bytes, not 4");
  EXPECT_EQ(refusal_of([&] { lowp::cast(x, view(bytes, 8)); }),
            "lowp::cast: sizes differ: in has 7, out has 8");
  EXPECT_EQ(
      refusal_of([&] { lowp::cast(x, lowp::packed<float4_e2m1fn, lowp::split_order>(bytes, 7)); }),
      "lowp::cast: out: 7 elements in split_order are no whole blocks of 32");
  std::vector<lowp::float8_e8m0fnu> scales(1);
  EXPECT_EQ(refusal_of([&] { lowp::block_cast(x, lowp::blocks_of<32>(view(bytes, 6), scales)); }),
            "lowp::block_cast: 6 elements of 4 bits need 3 bytes, not 4");
  std::span<std::uint8_t> const middle{reinterpret_cast<std::uint8_t*>(x.data()) + 8, 4};
  view const inside(middle, 7);
  EXPECT_EQ(refusal_of([&] { lowp::cast(x, inside); }),
            "lowp::cast: in (28 bytes) and out (4 bytes) overlap: out starts 8 bytes into in");
}

template <class View, class Bytes>
concept made_from = std::is_constructible_v<View, Bytes, std::size_t>;
static_assert(made_from<lowp::packed<float4_e2m1fn>, std::vector<std::byte>&>);
static_assert(made_from<lowp::packed<float4_e2m1fn>, std::span<signed char>>);
static_assert(!made_from<lowp::packed<float4_e2m1fn>, std::vector<std::uint8_t> const&>);
static_assert(made_from<lowp::packed<float4_e2m1fn const>, std::vector<std::uint8_t> const&>);
static_assert(!made_from<lowp::packed<float4_e2m1fn>, std::vector<std::uint16_t>&>);
static_assert(!made_from<lowp::packed<float4_e2m1fn>, std::vector<std::uint8_t>>);
static_assert(made_from<lowp::packed<float4_e2m1fn const>, std::vector<std::uint8_t>>);
static_assert(!made_from<lowp::packed<float4_e2m1fn const>, std::span<std::uint8_t volatile>>);
static_assert(lowp::storage<lowp::packed<float4_e2m1fn>>);
static_assert(!lowp::storage<lowp::packed<float4_e2m1fn const>>);
static_assert(!lowp::input<lowp::packed<float4_e2m1fn>>);

}  // namespace
