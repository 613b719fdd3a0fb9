// SPDX-License-Identifier: Apache-2.0
// Eigen's own narrow types as ours, and ours in Eigen's maps, without a copy.
#include <gtest/gtest.h>
#include <Eigen/Core>
#include <lowp/cast.hpp>
#include <lowp/eigen.hpp>

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using lowp::bfloat16;
using lowp::float16;

static_assert(
    std::is_same_v<decltype(lowp::view(std::declval<Eigen::half*>(), 1)), std::span<float16>>);
static_assert(std::is_same_v<decltype(lowp::view(std::declval<Eigen::bfloat16 const*>(), 1)),
                             std::span<bfloat16 const>>);
template <class To, class From>
concept viewed_as = requires(From* data) { lowp::view<To>(data, 1); };
static_assert(viewed_as<Eigen::half, float16> && viewed_as<float16, Eigen::half const>);
static_assert(!viewed_as<bfloat16, Eigen::half> && !viewed_as<Eigen::bfloat16, float16>);

TEST(eigen_views, all_values_agree) {
  std::vector<Eigen::half> theirs(65536);
  for (std::size_t i = 0; i < theirs.size(); ++i)
    theirs[i] = Eigen::numext::bit_cast<Eigen::half>(static_cast<std::uint16_t>(i));
  const std::span<float16> ours = lowp::view(theirs.data(), theirs.size());
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    ASSERT_EQ(ours[i].bits(), i);
    ASSERT_TRUE(float{ours[i]} == float{theirs[i]} || isnan(ours[i]));
  }
}

TEST(eigen_views, operations_take_them) {
  Eigen::Matrix<Eigen::bfloat16, 3, 4> theirs;
  const std::vector<float> x(12, 0.1F);
  lowp::cast(x, lowp::view(theirs.data(), 12));
  EXPECT_EQ(theirs, (Eigen::Matrix<Eigen::bfloat16, 3, 4>::Constant(Eigen::bfloat16(0.1F))));
}

TEST(eigen_views, maps_of_our_spans) {
  std::vector<bfloat16> ours(6, bfloat16(2));
  Eigen::Map<Eigen::Matrix<bfloat16, 2, 3>> map(ours.data());
  map *= bfloat16(1.5F);
  EXPECT_EQ(ours[5], 3);
  const auto theirs = lowp::view<Eigen::bfloat16>(ours.data(), ours.size());
  theirs[5] = Eigen::bfloat16(7.0F);
  EXPECT_EQ(ours[5], 7);
  EXPECT_EQ(map(1, 2), 7);
}

}  // namespace
