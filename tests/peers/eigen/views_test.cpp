// SPDX-License-Identifier: Apache-2.0
// Eigen's own narrow types as ours, and ours in Eigen's maps, without a copy.
#include <gtest/gtest.h>
#include <Eigen/Core>
#include <lowp/cast.hpp>
#include <lowp/eigen.hpp>
#include <lowp/update.hpp>

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
  std::span<float16> const ours = lowp::view(theirs.data(), theirs.size());
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    ASSERT_EQ(ours[i].bits(), i);
    ASSERT_TRUE(float{ours[i]} == float{theirs[i]} || isnan(ours[i]));
  }
}

TEST(eigen_views, operations_take_them) {
  Eigen::Matrix<Eigen::bfloat16, 3, 4> theirs;
  std::vector<float> const x(12, 0.1f);
  lowp::cast(x, lowp::view(theirs.data(), 12));
  EXPECT_EQ(theirs, (Eigen::Matrix<Eigen::bfloat16, 3, 4>::Constant(Eigen::bfloat16(0.1f))));
}

TEST(eigen_views, maps_of_our_spans) {
  std::vector<bfloat16> ours(6, bfloat16(2));
  Eigen::Map<Eigen::Matrix<bfloat16, 2, 3>> map(ours.data());
  map *= bfloat16(1.5f);
  EXPECT_EQ(ours[5], 3);
  auto const theirs = lowp::view<Eigen::bfloat16>(ours.data(), ours.size());
  theirs[5] = Eigen::bfloat16(7.0f);
  EXPECT_EQ(ours[5], 7);
  EXPECT_EQ(map(1, 2), 7);
}

// Elements that follow each other are a range. Those of an expression or with a stride are none.
template <class T>
using column = Eigen::Matrix<T, Eigen::Dynamic, 1>;
static_assert(lowp::input<column<float>> && lowp::output<column<bfloat16>&>);
static_assert(lowp::input<column<float> const&> && !lowp::output<column<float> const&>);
static_assert(!lowp::output<column<float>> && lowp::output<Eigen::Map<column<float>>>);
static_assert(lowp::input<Eigen::ArrayXf> && lowp::input<Eigen::RowVector3f>);
static_assert(!lowp::output<Eigen::Map<column<float> const>>);
static_assert(!lowp::input<Eigen::Map<column<float>, 0, Eigen::InnerStride<>>>);
static_assert(!lowp::input<Eigen::Map<column<float>, 0, Eigen::InnerStride<2>>>);
static_assert(!lowp::input<Eigen::MatrixXf>);
static_assert(!lowp::input<decltype(column<float>() + column<float>())>);
static_assert(lowp::input<decltype(std::declval<Eigen::MatrixXf&>().col(0))>);
static_assert(!lowp::input<decltype(std::declval<Eigen::MatrixXf&>().row(0))>);

TEST(ranges, of_eigen_are_cast_and_updated) {
  column<float> const x = column<float>::LinSpaced(9, -1, 1);
  column<bfloat16> narrow(9);
  std::vector<bfloat16> mapped(9);
  lowp::cast(x, narrow);
  lowp::cast(x, Eigen::Map<column<bfloat16>>(mapped.data(), 9));
  Eigen::MatrixXf steps = Eigen::MatrixXf::Zero(9, 2);
  lowp::update(steps.col(1), x, lowp::sgd{.lr = 1}, 1);
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(float(narrow[i]), float(bfloat16(x[i])));
    EXPECT_EQ(float(mapped[static_cast<std::size_t>(i)]), float(bfloat16(x[i])));
    EXPECT_EQ(steps(i, 0), 0);
    EXPECT_EQ(steps(i, 1), -x[i]);
  }
}

}  // namespace
