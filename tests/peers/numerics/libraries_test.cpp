// SPDX-License-Identifier: Apache-2.0
// Numerical libraries that do not know lowp, unmodified: glm, nanoflann, Boost.Math, Boost.odeint
// and xtensor. Each gives what it gives for float, to the precision of the narrow type.
#include <gtest/gtest.h>
#include <lowp/io.hpp>
#include <lowp/value.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#if __has_include(<glm/glm.hpp>)
#include <glm/glm.hpp>
#define HAS_GLM 1
#endif
#if __has_include(<nanoflann.hpp>)
#include <nanoflann.hpp>
#define HAS_NANOFLANN 1
#endif
#if __has_include( \
    <boost/numeric/odeint/stepper/runge_kutta4.hpp>) && __has_include(<boost/math/tools/roots.hpp>)
#include <boost/math/tools/polynomial.hpp>
#include <boost/math/tools/roots.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta4.hpp>
#define HAS_BOOST 1
#endif
#if __has_include(<xtensor/xtensor.hpp>)
#include <xtensor/xmath.hpp>
#include <xtensor/xtensor.hpp>
#define HAS_XTENSOR 1
#endif

namespace {

using lowp::bfloat16;
using lowp::float16;

TEST(numerics, glm) {
#if defined(HAS_GLM)
  using vec = glm::vec<3, float16, glm::defaultp>;
  using mat = glm::mat<3, 3, float16, glm::defaultp>;
  vec const a(1, 2, 3);
  vec b = a + vec(float16(0.5f)) * float16(2);
  EXPECT_EQ(b, vec(2, 3, 4));
  b *= float16(2);
  EXPECT_EQ(glm::cross(a, b), vec(-2, 4, -2));
  EXPECT_EQ(glm::dot(a, b), 40);
  EXPECT_EQ(glm::mix(a, b, float16(0.5f)), vec(2.5f, 4, 5.5f));
  EXPECT_EQ(glm::clamp(a, float16(1.5f), float16(2.5f)), vec(1.5f, 2, 2.5f));
  EXPECT_NEAR(float{glm::length(glm::normalize(a))}, 1, 0x1p-10);
  mat const twice(float16(2));
  EXPECT_EQ(glm::transpose(twice) * a, vec(2, 4, 6));
  EXPECT_EQ(glm::determinant(twice), 8);
  EXPECT_EQ(glm::inverse(twice), mat(float16(0.5f)));
#else
  GTEST_SKIP() << "libglm-dev is not installed";
#endif
}

#if defined(HAS_NANOFLANN)
struct grid {
  std::vector<std::array<float16, 2>> points;

  std::size_t kdtree_get_point_count() const { return points.size(); }
  float16 kdtree_get_pt(std::size_t i, std::size_t k) const { return points[i][k]; }
  template <class Box>
  bool kdtree_get_bbox(Box&) const {
    return false;
  }
};
#endif
TEST(numerics, nanoflann) {
#if defined(HAS_NANOFLANN)
  grid points;
  for (int i = 0; i < 100; ++i) points.points.push_back({float16(i % 10), float16(i / 10)});
  using metric = nanoflann::L2_Simple_Adaptor<float16, grid>;
  nanoflann::KDTreeSingleIndexAdaptor<metric, grid, 2> tree(2, points);
  tree.buildIndex();
  std::array<float16, 2> const query{float16(3.25f), float16(6.875f)};
  std::uint32_t nearest = 0;
  float16 distance;
  tree.knnSearch(query.data(), 1, &nearest, &distance);
  EXPECT_EQ(nearest, 73U);
  EXPECT_EQ(distance, 0.078125f);
#else
  GTEST_SKIP() << "libnanoflann-dev is not installed";
#endif
}

TEST(numerics, boost_math) {
#if defined(HAS_BOOST)
  const boost::math::tools::polynomial<bfloat16> p{{bfloat16(-2), bfloat16(0), bfloat16(1)}};
  EXPECT_EQ(p(bfloat16(3)), 7);
  EXPECT_EQ((p * p)(bfloat16(2)), 4);
  auto const root =
      boost::math::tools::bisect([&](bfloat16 x) { return p(x); }, bfloat16(1), bfloat16(2),
                                 boost::math::tools::eps_tolerance<bfloat16>(6));
  EXPECT_LE(root.first, std::sqrt(2.0f));
  EXPECT_GE(root.second, std::sqrt(2.0f));
  EXPECT_LT(root.second - root.first, 0.06f);
#else
  GTEST_SKIP() << "libboost-dev is not installed";
#endif
}

// States are narrow, times and coefficients are not.
TEST(numerics, boost_odeint) {
#if defined(HAS_BOOST)
  using state = std::array<float16, 2>;
  static boost::numeric::odeint::runge_kutta4<state, double, state, double> stepper;
  state s{float16(1), float16(0)};
  auto const circle = [](state const& x, state& dx, double) {
    dx[0] = x[1];
    dx[1] = -x[0];
  };
  for (int step = 0; step < 16; ++step) stepper.do_step(circle, s, step / 16.0, 1 / 16.0);
  EXPECT_NEAR(float{s[0]}, std::cos(1.0), 0.005);
  EXPECT_NEAR(float{s[1]}, -std::sin(1.0), 0.005);
#else
  GTEST_SKIP() << "libboost-dev is not installed";
#endif
}

TEST(numerics, xtensor) {
#if defined(HAS_XTENSOR)
  const xt::xtensor<bfloat16, 2> a = xt::ones<bfloat16>({3, 4});
  xt::xtensor<bfloat16, 2> const b = a * bfloat16(2) + a;
  xt::xtensor<bfloat16, 1> const columns = xt::sum(b, {0});
  EXPECT_EQ(columns.size(), 4U);
  EXPECT_EQ(columns(1), 9);
  EXPECT_EQ(xt::sum(b)(), 36);
  EXPECT_EQ(xt::mean(b)(), 3);
  xt::xtensor<bfloat16, 2> const c = xt::sqrt(xt::exp(a) - a);
  EXPECT_EQ(c(2, 3), 1.3125f);
#else
  GTEST_SKIP() << "libxtensor-dev is not installed";
#endif
}

}  // namespace
