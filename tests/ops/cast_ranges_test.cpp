// SPDX-License-Identifier: Apache-2.0
// Ranges that cast takes, and those that it refuses before it writes anything.
#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <ranges>
#include <span>
#include <stdexcept>

#include "support/support.hpp"

namespace {

using namespace lowp_test;
using lowp::bfloat16;
using lowp::float16;
using lowp::float8_e4m3fn;

static_assert(lowp::input<std::vector<float>> && lowp::input<std::vector<float> const&>);
static_assert(lowp::input<std::span<bfloat16 const>> && lowp::input<float (&)[4]>);
static_assert(lowp::input<std::initializer_list<float>>);
static_assert(!lowp::input<std::vector<double>> && !lowp::input<std::vector<int>>);
static_assert(!lowp::input<std::deque<float>> && !lowp::input<float*>);
static_assert(lowp::output<std::vector<float>&> && lowp::output<std::span<bfloat16>>);
static_assert(lowp::output<std::array<float16, 3>&> && lowp::output<bfloat16 (&)[3]>);
static_assert(!lowp::output<std::vector<float>> && !lowp::output<std::vector<float> const&>);
static_assert(!lowp::output<std::span<float const>> && !lowp::output<std::array<float, 3>>);

template <class Out>
void expect_one_two_three(Out const& out) {
  ASSERT_EQ(std::ranges::size(out), 3U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(std::ranges::data(out)[i], static_cast<float>(i + 1));
}

TEST(cast_ranges, takes_every_kind_of_contiguous_range) {
  std::vector<float> const vector{1, 2, 3};
  std::array<float, 3> const array{1, 2, 3};
  float const c_array[] = {1, 2, 3};
  std::vector<bfloat16> out(3);
  auto const empty = [&]() -> std::vector<bfloat16>& { return out = std::vector<bfloat16>(3); };
  lowp::cast(vector, empty());
  expect_one_two_three(out);
  lowp::cast(array, empty());
  expect_one_two_three(out);
  lowp::cast(c_array, empty());
  expect_one_two_three(out);
  lowp::cast(std::span(vector), empty());
  expect_one_two_three(out);
  lowp::cast(std::span<float const, 3>(array), empty());
  expect_one_two_three(out);
  lowp::cast(std::vector<float>{1, 2, 3}, empty());
  expect_one_two_three(out);
  lowp::cast(std::initializer_list<float>{1, 2, 3}, empty());
  expect_one_two_three(out);
}

TEST(cast_ranges, writes_to_every_kind_that_outlives_the_call) {
  std::vector<float> const in{1, 2, 3};
  std::array<float16, 3> array{};
  lowp::cast(in, array);
  expect_one_two_three(array);
  float8_e4m3fn c_array[3] = {};
  lowp::cast(in, c_array);
  expect_one_two_three(c_array);
  std::vector<bfloat16> vector(3);
  lowp::cast(in, std::span(vector));
  expect_one_two_three(vector);
  auto const owned = std::make_unique<float16[]>(3);
  lowp::cast(in, std::span(owned.get(), 3), lowp::upward{});
  expect_one_two_three(std::span(owned.get(), 3));
  float widened[3] = {};
  lowp::cast(vector, widened, lowp::to_odd{}, lowp::overflow::saturate);
  expect_one_two_three(widened);
}

TEST(cast_ranges, of_nothing_writes_nothing) {
  std::vector<bfloat16> out;
  lowp::cast(std::vector<float>{}, out);
  lowp::cast(std::span<float const>(), std::span<bfloat16>());
  EXPECT_TRUE(out.empty());
}

// The message of the refusal, after which `storage` must be as it was.
template <class In, class Out>
std::string refusal(In const& in, Out&& out, std::span<unsigned char const> storage) {
  std::vector<unsigned char> const before(storage.begin(), storage.end());
  try {
    lowp::cast(in, out);
  } catch (std::invalid_argument const& error) {
    EXPECT_TRUE(std::ranges::equal(before, storage)) << "something was written";
    return error.what();
  }
  return "no refusal";
}

template <class T>
std::span<unsigned char const> bytes_of(std::vector<T> const& x) {
  return {reinterpret_cast<unsigned char const*>(x.data()), x.size() * sizeof(T)};
}

testing::AssertionResult says(std::string const& message,
                              std::initializer_list<char const*> words) {
  for (char const* word : words) {
    if (message.find(word) == std::string::npos) {
      return testing::AssertionFailure() << "no \"" << word << "\" in: " << message;
    }
  }
  return testing::AssertionSuccess();
}

TEST(cast_ranges, refuses_unequal_sizes) {
  std::vector<float> const in(17, 1.0f);
  std::vector<bfloat16> shorter(16);
  std::vector<bfloat16> longer(18);
  std::vector<bfloat16> none;
  EXPECT_TRUE(says(refusal(in, shorter, bytes_of(shorter)), {"cast", "in", "17", "out", "16"}));
  EXPECT_TRUE(says(refusal(in, longer, bytes_of(longer)), {"cast", "in", "17", "out", "18"}));
  EXPECT_TRUE(says(refusal(in, none, {}), {"cast", "in", "17", "out", "0"}));
  std::vector<float> floats(3);
  EXPECT_TRUE(says(refusal(in, floats, bytes_of(floats)), {"cast", "17", "3"}));
}

TEST(cast_ranges, refuses_partial_overlap) {
  std::vector<float> floats(64, 1.25f);
  std::span const all(floats);
  auto const bytes = bytes_of(floats);
  auto const message = refusal(all.subspan(0, 16), all.subspan(15, 16), bytes);
  EXPECT_TRUE(says(message, {"cast", "in", "out", "64 bytes", "overlap", "60"}));
  EXPECT_TRUE(says(refusal(all.subspan(1, 16), all.subspan(0, 16), bytes), {"overlap"}));

  // Another element size: even the same start is only partly the same storage.
  auto const narrow_at = [&](std::size_t byte, std::size_t size) {
    auto* const start = reinterpret_cast<unsigned char*>(floats.data()) + byte;
    return std::span(reinterpret_cast<bfloat16*>(start), size);
  };
  EXPECT_TRUE(says(refusal(all.subspan(0, 16), narrow_at(0, 16), bytes), {"32 bytes", "overlap"}));
  EXPECT_TRUE(says(refusal(all.subspan(0, 16), narrow_at(62, 16), bytes), {"overlap"}));
  EXPECT_TRUE(says(refusal(narrow_at(0, 16), all.subspan(7, 16), bytes), {"overlap"}));
  EXPECT_TRUE(says(refusal(all.subspan(2, 1), narrow_at(10, 1), bytes), {"overlap"}));
  EXPECT_TRUE(says(refusal(all.subspan(16, 16), narrow_at(34, 16), bytes), {"overlap"}));
}

// Elements of one byte: they may share but one, and start anywhere.
TEST(cast_ranges, refuses_an_overlap_of_one_byte) {
  using lowp::float8_e5m2;
  std::vector<unsigned char> memory(128, 0x3c);
  std::span<unsigned char const> const bytes(memory);
  for (std::size_t const lead : {0U, 1U, 5U}) {
    std::span const left(reinterpret_cast<float8_e4m3fn*>(memory.data() + lead), 33);
    for (std::size_t const shared : {0U, 1U, 2U, 33U}) {
      std::span const right(reinterpret_cast<float8_e5m2*>(memory.data() + lead + 33 - shared), 33);
      bool const is_refused = shared == 1 || shared == 2;
      std::string const starts = "starts " + std::to_string(33 - shared) + " bytes into ";
      if (is_refused) {
        EXPECT_TRUE(says(refusal(left, right, bytes), {"overlap", (starts + "in").c_str()}));
        EXPECT_TRUE(says(refusal(right, left, bytes), {"overlap", (starts + "out").c_str()}));
      } else {
        EXPECT_NO_THROW(lowp::cast(left, right)) << shared;
        EXPECT_NO_THROW(lowp::cast(right, left)) << shared;
      }
    }
  }
}

TEST(cast_ranges, takes_neighbours_and_empty_ranges_inside_others) {
  std::vector<float> floats(64, 1.25f);
  std::span const all(floats);
  EXPECT_NO_THROW(lowp::cast(all.subspan(0, 16), all.subspan(16, 16)));
  EXPECT_NO_THROW(lowp::cast(all.subspan(16, 16), all.subspan(0, 16)));
  EXPECT_NO_THROW(lowp::cast(all.subspan(5, 0), all.subspan(5, 0)));
  EXPECT_NO_THROW(lowp::cast(std::span<float>{}, std::span<float>{}));  // null pointers
  auto* const narrow = reinterpret_cast<bfloat16*>(floats.data() + 16);
  EXPECT_NO_THROW(lowp::cast(all.subspan(0, 16), std::span(narrow, 16)));
  EXPECT_EQ(narrow[0], 1.25f);
}

}  // namespace
