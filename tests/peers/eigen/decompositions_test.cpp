// SPDX-License-Identifier: Apache-2.0
// Decompositions of narrow matrices in Eigen. Their products give the matrix back.
#include <gtest/gtest.h>
#include <Eigen/Dense>
#include <lowp/eigen.hpp>

#include <cstdlib>

namespace {

using Eigen::Dynamic;
using Eigen::Index;
using Eigen::MatrixXd;

template <class T>
struct eigen_decompositions : testing::Test {
  using matrix = Eigen::Matrix<T, Dynamic, Dynamic>;
  using column = Eigen::Matrix<T, Dynamic, 1>;

  static constexpr Index n = 6;
  static matrix random(Index columns) {
    std::srand(1);
    return matrix::Random(n, columns);
  }
  matrix const r = random(n);
  matrix const identity = matrix::Identity(n, n);
  matrix const a = r + identity * 4;  // well-conditioned
  matrix const s = matrix(r + r.transpose()) * T(0.5f) + identity * 4;
  column const b = random(1);
  double const bound = 8 * double{float{std::numeric_limits<T>::epsilon()}};

  template <class A, class B>
  static double difference(A const& x, B const& expected) {
    return (x - expected).norm() / expected.norm();
  }
  template <class X>
  static auto wide(X const& x) {
    return x.template cast<double>().eval();
  }
  double residual(matrix const& system, column const& x) const {
    return difference(wide(system) * wide(x), wide(b));
  }
};
using formats = testing::Types<lowp::bfloat16, lowp::float16>;
TYPED_TEST_SUITE(eigen_decompositions, formats);

TYPED_TEST(eigen_decompositions, lu_qr_and_cholesky_solve) {
  EXPECT_LT(this->residual(this->a, this->a.partialPivLu().solve(this->b)), this->bound);
  EXPECT_LT(this->residual(this->a, this->a.householderQr().solve(this->b)), this->bound);
  EXPECT_LT(this->residual(this->a, this->a.colPivHouseholderQr().solve(this->b)), this->bound);
  EXPECT_LT(this->residual(this->s, this->s.llt().solve(this->b)), this->bound);
  EXPECT_LT(this->residual(this->s, this->s.ldlt().solve(this->b)), this->bound);
}

TYPED_TEST(eigen_decompositions, eigenvalues) {
  Eigen::SelfAdjointEigenSolver<typename TestFixture::matrix> const eigen(this->s);
  ASSERT_EQ(eigen.info(), Eigen::Success);
  auto const v = this->wide(eigen.eigenvectors());
  EXPECT_LT(this->difference(v * this->wide(eigen.eigenvalues()).asDiagonal() * v.transpose(),
                             this->wide(this->s)),
            this->bound);
}

// Eigen squares a quotient of two elements here, which overflows float16, ours and Eigen's.
using eigen_svd = eigen_decompositions<lowp::bfloat16>;
TEST_F(eigen_svd, gives_the_matrix_back) {
  Eigen::JacobiSVD<matrix> const svd(a, Eigen::ComputeFullU | Eigen::ComputeFullV);
  EXPECT_LT(difference(wide(svd.matrixU()) * wide(svd.singularValues()).asDiagonal() *
                           wide(svd.matrixV()).transpose(),
                       wide(a)),
            bound);
}

}  // namespace
