// SPDX-License-Identifier: Apache-2.0
// Matrices of narrow types in Eigen, against the same in double.
#include <gtest/gtest.h>
#include <Eigen/Core>
#include <lowp/eigen.hpp>

#include <cstdio>
#include <sstream>

namespace {

using Eigen::Dynamic;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::MatrixXf;

template <class T>
using matrix = Eigen::Matrix<T, Dynamic, Dynamic>;

template <class T>
double epsilon() {
  return float{Eigen::NumTraits<T>::epsilon()};
}

template <class A, class B>
double error(A const& actual, B const& expected) {
  return (actual.template cast<double>() - expected).norm() / expected.norm();
}

template <class T>
class eigen_matrices : public testing::Test {};
using formats = testing::Types<lowp::implicit<lowp::bfloat16>, lowp::float16>;
TYPED_TEST_SUITE(eigen_matrices, formats);

TYPED_TEST(eigen_matrices, random_fills_the_interval) {
  using T = TypeParam;
  std::srand(1);
  MatrixXd const a = matrix<T>::Random(50, 50).template cast<double>();
  EXPECT_GE(a.minCoeff(), -1);
  EXPECT_LE(a.maxCoeff(), 1);
  EXPECT_LT(a.minCoeff(), -0.9);
  EXPECT_GT(a.maxCoeff(), 0.9);
  EXPECT_NEAR(a.mean(), 0, 0.1);
  T const low(2), high(3);
  T const x = Eigen::internal::random<T>(low, high);
  EXPECT_TRUE(low <= x && x <= high);
  // In T itself the distance of these would be infinite.
  using limits = std::numeric_limits<T>;
  EXPECT_TRUE(isfinite(Eigen::internal::random<T>(limits::lowest(), limits::max())));
}

TYPED_TEST(eigen_matrices, sums_products_and_casts) {
  using T = TypeParam;
  std::srand(2);
  matrix<T> const a = matrix<T>::Random(16, 16), b = matrix<T>::Random(16, 16);
  MatrixXd const wide_a = a.template cast<double>(), wide_b = b.template cast<double>();
  EXPECT_LT(error(matrix<T>(a + b), wide_a + wide_b), epsilon<T>());
  EXPECT_LT(error(matrix<T>(a * b), wide_a * wide_b), 4 * epsilon<T>());
  EXPECT_LT(
      error(matrix<T>(a.transpose() * T(0.5f) - b * 2), wide_a.transpose() * 0.5 - 2 * wide_b),
      2 * epsilon<T>());
  EXPECT_LT(error(matrix<T>(a.cwiseProduct(b)), wide_a.cwiseProduct(wide_b)), epsilon<T>());
  EXPECT_NEAR(float{a.cwiseAbs().maxCoeff()}, wide_a.cwiseAbs().maxCoeff(), 0);
  EXPECT_NEAR(float{a.minCoeff()}, wide_a.minCoeff(), 0);
  EXPECT_NEAR(float{a.norm()}, wide_a.norm(), 32 * epsilon<T>() * wide_a.norm());
  EXPECT_NEAR(float{a.sum()}, wide_a.sum(), 8 * epsilon<T>() * wide_a.cwiseAbs().sum());
  EXPECT_EQ(a.template cast<float>().template cast<T>(), a);
  EXPECT_EQ((a.array().exp() > T(0)).count(), a.size());
  EXPECT_TRUE(a.isApprox(a * T(1 + epsilon<T>())));
  EXPECT_FALSE(a.isApprox(b));
}

TYPED_TEST(eigen_matrices, traits) {
  using T = TypeParam;
  using traits = Eigen::NumTraits<T>;
  static_assert(!traits::IsInteger && traits::IsSigned && !traits::IsComplex &&
                !traits::RequireInitialization);
  static_assert(std::is_same_v<typename traits::Real, T> &&
                std::is_same_v<typename traits::NonInteger, T>);
  EXPECT_EQ(traits::dummy_precision(), 8 * epsilon<T>());
  EXPECT_EQ(traits::highest(), std::numeric_limits<T>::max());
  EXPECT_EQ(traits::lowest(), -std::numeric_limits<T>::max());
  EXPECT_EQ(traits::digits10(), std::numeric_limits<T>::digits10);
}

TEST(eigen_matrices, implicit_takes_numbers_as_float_does) {
  using real = lowp::implicit<lowp::bfloat16>;
  matrix<real> a = matrix<real>::Constant(2, 2, 0.5);
  a += matrix<real>::Identity(2, 2) * 1.5 - 0.25 * a / 2.0f;
  Eigen::Vector<real, 2> x, y(0.5, 2.0);
  x << 1.0, 0.5f;
  x(1) += 0.5;
  real const product = x.dot(a * y);
  EXPECT_EQ(product, 2.0 * 0.5 + 0.4375 * 2 + 1.9375 * 2 + 0.4375 * 0.5 - 0.0625 * 0.5);
  a.setConstant(0.25);
  EXPECT_EQ(a.sum(), 1);
}

TEST(eigen_matrices, fp8) {
  using lowp::float8_e4m3fn;
  std::srand(4);
  matrix<float8_e4m3fn> const a = matrix<float8_e4m3fn>::Random(32, 32);
  EXPECT_GT(a.maxCoeff(), 0.8f);
  MatrixXf const product = a.cast<float>() * a.cast<float>();
  EXPECT_LT(error(product.cast<float8_e4m3fn>(), product.cast<double>()), 0.0625);
  EXPECT_EQ(Eigen::NumTraits<float8_e4m3fn>::dummy_precision(), 0.5f);
}

TEST(eigen_matrices, prints_as_floats_do) {
  Eigen::Matrix<lowp::bfloat16, 2, 2> a;
  a << lowp::bfloat16(0.5f), 1, -2, lowp::bfloat16(0.1f);
  std::stringstream narrow, wide;
  narrow << a;
  wide << a.cast<float>();
  EXPECT_EQ(narrow.str(), wide.str());
  EXPECT_EQ(narrow.str(), "     0.5        1\n      -2 0.100098");
}

// A product in float, rounded once, is several times as exact.
TEST(eigen_matrices, products_in_float_are_better) {
  using lowp::bfloat16;
  std::srand(5);
  Index const n = 64;
  matrix<bfloat16> const a = matrix<bfloat16>::Random(n, n), b = matrix<bfloat16>::Random(n, n);
  MatrixXd const exact = a.cast<double>() * b.cast<double>();
  double const stepwise = error(matrix<bfloat16>(a * b), exact);
  double const once = error((a.cast<float>() * b.cast<float>()).eval().cast<bfloat16>(), exact);
  std::printf(
      "relative error of a %d x %d product: %.2e rounded at every step, %.2e rounded once\n",
      int(n), int(n), stepwise, once);
  EXPECT_LT(once, 0.5 * epsilon<bfloat16>());
  EXPECT_GT(stepwise, 2 * once);
}

}  // namespace
