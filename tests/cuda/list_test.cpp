// SPDX-License-Identifier: Apache-2.0
// Lists of tensors in one launch: the bits of each tensor alone.
#include <gtest/gtest.h>
#include <lowp/cuda/list.hpp>
#include <lowp/lowp.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "simulated_grid.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;
using lowp::bfloat16;

using adamw_list = std::vector<lowp::cuda::adamw_tensor<bfloat16, bfloat16, float, float>>;

// Tensors of all sizes around a tile, some empty, at all alignments.
struct model {
  explicit model(std::size_t tensors, std::size_t most = 200) {
    std::mt19937_64 random(1);
    for (std::size_t i = 0; i < tensors; ++i) {
      std::size_t const size = i % 10 == 3 ? 0 : random() % most + 1;
      auto const add = [&]<class T>(std::vector<guarded<T>>& to, double scale) {
        to.emplace_back(random_tensor<T>(size, random(), values::training, scale), random() % 9);
      };
      add(p, 1);
      add(g, 1e-2);
      add(m, 1e-3);
      v.emplace_back(tensor{oracle::binary32, std::vector<std::uint32_t>(size, float_bits(1e-5f))},
                     random() % 5);
    }
  }
  adamw_list list() {
    adamw_list all;
    for (std::size_t i = 0; i < p.size(); ++i)
      all.push_back({p[i].span(), g[i].span(), m[i].span(), v[i].span()});
    return all;
  }
  bool operator==(model& other) {
    auto const same = []<class T>(std::vector<guarded<T>>& a, std::vector<guarded<T>>& b) {
      for (std::size_t i = 0; i < a.size(); ++i)
        if (!a[i].span().empty() &&
            std::memcmp(a[i].span().data(), b[i].span().data(), a[i].span().size_bytes()) != 0)
          return false;
      return true;
    };
    return same(p, other.p) && same(m, other.m) && same(v, other.v);
  }

  std::vector<guarded<bfloat16>> p, g;
  std::vector<guarded<float>> m, v;
};

// Does what lowp::cuda::x(stream, list, rest...) does.
template <template <class> class Operation, class List, class... Rest>
std::string call(simulated_grid& grid, List const& list, std::uint32_t stride, Rest&&... rest) {
  return lowp::cuda::run_list(grid, List::value_type::function, list, stride,
                              [&](auto const& executor, auto const& t) {
                                using on = std::remove_cvref_t<decltype(executor)>;
                                t.apply(Operation<on>{{executor}}, rest...);
                              });
}
template <class List, class... Rest>
std::string update_list(simulated_grid& grid, List const& list, std::uint32_t stride,
                        Rest&&... rest) {
  return call<lowp::detail::update_operation>(grid, list, stride, rest...);
}
template <class List, class... Rest>
std::string add_list(simulated_grid& grid, List const& list, Rest&&... rest) {
  return call<lowp::detail::fused_add_operation>(grid, list, 0, rest...);
}

// `requires` sees which lists an operation takes, also an operation that takes none.
template <template <class> class Operation, class List, class... Rest>
concept takes =
    lowp::detail::takes_each<Operation<lowp::cuda::on_grid<simulated_grid>>, List, Rest...>;
static_assert(takes<lowp::detail::update_operation, adamw_list, lowp::adamw, int>);
static_assert(!takes<lowp::detail::update_operation, adamw_list, lowp::sgd, int>);
static_assert(!takes<lowp::detail::fused_add_operation, adamw_list, float>);
static_assert(!takes<lowp::detail::cast_operation, adamw_list>);

// Tensor i has i added to the tensor number of the stream.
lowp::stochastic mode_of(std::size_t tensor) {
  return {.seed = 9,
          .stream = lowp::stream_of(static_cast<std::uint32_t>(70 + tensor), 0),
          .offset = 3};
}

TEST(cuda_list, has_the_bits_of_each_tensor_alone) {
  for (std::size_t const tensors : {1U, 2U, 40U}) {
    for (std::uint64_t const blocks : {std::uint64_t{1}, std::uint64_t{5}, ~std::uint64_t{0}}) {
      model alone(tensors);
      model together(tensors);
      for (std::size_t i = 0; i < tensors; ++i)
        lowp::update(alone.p[i].span(), alone.g[i].span(), alone.m[i].span(), alone.v[i].span(),
                     lowp::adamw{}, 4, mode_of(i));
      simulated_grid grid(4, blocks);
      ASSERT_EQ(update_list(grid, together.list(), 0, lowp::adamw{}, 4, mode_of(0)), "");
      EXPECT_TRUE(together == alone) << tensors << " tensors, " << blocks << " blocks";
      EXPECT_LE(grid.launches, 3);  // one for each width of access
    }
  }
}

// Storages of two arrays, and moments in blocks.
TEST(cuda_list, of_storages_has_the_bits_of_each_tensor_alone) {
  using parameter = lowp::kahan<bfloat16, bfloat16>;
  using moment = lowp::block_scaled<lowp::float8_e4m3fn, 128>;
  struct arrays {
    std::vector<bfloat16> value, rest;
    std::vector<float> g, v;
    std::vector<lowp::float8_e4m3fn> m;
    std::vector<lowp::float8_e8m0fnu> scales;

    explicit arrays(std::size_t size)
        : value(size, bfloat16(1)),
          rest(size, bfloat16(0)),
          v(size),
          m(size, lowp::float8_e4m3fn(0)),
          scales((size + 127) / 128, lowp::float8_e8m0fnu(1)) {
      for (std::size_t i = 0; i < size; ++i) g.push_back(static_cast<float>(i % 17) - 8);
    }
    bool operator==(arrays const&) const = default;
  };
  std::vector<arrays> alone;
  for (std::size_t const size : {1U, 130U, 700U, 0U, 256U}) alone.emplace_back(size);
  std::vector<arrays> together = alone;
  std::vector<lowp::cuda::adamw_tensor<parameter, float, moment, float>> list;
  for (arrays& t : together)
    list.push_back({lowp::kahan{t.value, t.rest}, t.g, lowp::blocks_of<128>(t.m, t.scales), t.v});
  for (std::size_t i = 0; i < alone.size(); ++i) {
    arrays& t = alone[i];
    lowp::update(lowp::kahan{t.value, t.rest}, t.g, lowp::blocks_of<128>(t.m, t.scales), t.v,
                 lowp::adamw{}, 4, mode_of(i));
  }
  simulated_grid grid(32, 2);
  ASSERT_EQ(update_list(grid, list, 0, lowp::adamw{}, 4, mode_of(0)), "");
  for (std::size_t i = 0; i < alone.size(); ++i)
    EXPECT_TRUE(together[i] == alone[i]) << "tensor " << i;

  list[4].m.scales = std::span(together[2].scales).last(2);
  EXPECT_EQ(update_list(grid, list, 0, lowp::adamw{}, 4, mode_of(0)),
            "update: tensors 2 and 4 share memory that is written");
}

TEST(cuda_list, reports_on_all_or_on_each) {
  constexpr std::size_t tensors = 20;
  model alone(tensors);
  std::vector<lowp::update_report> want(tensors);
  lowp::update_report whole;
  for (std::size_t i = 0; i < tensors; ++i) {
    lowp::update(alone.p[i].span(), alone.g[i].span(), alone.m[i].span(), alone.v[i].span(),
                 lowp::adamw{}, 4, mode_of(i), want[i]);
    whole += want[i];
  }
  auto const expect_same = [](lowp::update_report const& got, lowp::update_report const& expected) {
    EXPECT_EQ(got.count, expected.count);
    EXPECT_EQ(got.stalled, expected.stalled);
    EXPECT_EQ(got.requested.value(), expected.requested.value());
  };
  for (std::uint64_t const blocks : {std::uint64_t{2}, ~std::uint64_t{0}}) {
    simulated_grid grid(32, blocks);
    model one(tensors);
    lowp::update_report got;
    ASSERT_EQ(update_list(grid, one.list(), 0, lowp::adamw{}, 4, mode_of(0), got), "");
    expect_same(got, whole);
    EXPECT_LE(grid.launches, 3);  // one for each width of access, none for reports

    model each(tensors);
    std::vector<lowp::update_report> reports(tensors);
    ASSERT_EQ(update_list(grid, each.list(), 1, lowp::adamw{}, 4, mode_of(0), reports[0]), "");
    for (std::size_t i = 0; i < tensors; ++i) expect_same(reports[i], want[i]);
    EXPECT_LE(grid.launches, 6);
  }
}

TEST(cuda_list, is_split_where_the_parameters_of_a_kernel_end) {
  constexpr std::size_t tensors = 1500;
  std::vector<bfloat16> p(16 * tensors, bfloat16(1.0f)), want = p;
  std::vector<bfloat16> const u(16 * tensors, bfloat16(0x1p-9f));  // a fourth of a gap
  std::vector<lowp::cuda::fused_add_tensor<bfloat16, bfloat16>> list;
  for (std::size_t i = 0; i < tensors; ++i)
    list.push_back({std::span(p).subspan(16 * i, 16), std::span(u).subspan(16 * i, 16)});
  simulated_grid grid(1);
  ASSERT_EQ(add_list(grid, list, 1.0f, mode_of(0)), "");
  for (std::size_t i = 0; i < tensors; ++i)
    lowp::fused_add(std::span(want).subspan(16 * i, 16), 1.0f, list[i].u, mode_of(i));
  EXPECT_EQ(p, want);
  EXPECT_LE(grid.parameter_bytes, lowp::cuda::parameter_bytes);
  EXPECT_GE(grid.launches, 2);
  EXPECT_LE(grid.launches, 3);
}

TEST(cuda_list, of_400_tensors_is_one_launch) {
  model aligned(400, 30);
  adamw_list list;
  std::vector<bfloat16> p(400 * 8), g(400 * 8);
  std::vector<float> m(400 * 8), v(400 * 8);
  for (std::size_t i = 0; i < 400; ++i)
    list.push_back({std::span(p).subspan(8 * i, 8), std::span(g).subspan(8 * i, 8),
                    std::span(m).subspan(8 * i, 8), std::span(v).subspan(8 * i, 8)});
  simulated_grid grid(8);
  ASSERT_EQ(update_list(grid, list, 0, lowp::adamw{}, 1, lowp::stochastic{1}), "");
  EXPECT_EQ(grid.launches, 1);
  EXPECT_LE(grid.parameter_bytes, lowp::cuda::parameter_bytes);
}

TEST(cuda_list, refuses_before_anything_is_launched) {
  simulated_grid grid(4);
  model tensors(5);
  adamw_list list = tensors.list();
  model untouched(5);

  list[4].g = list[4].g.first(list[4].g.size() - 1);
  std::string const sizes = update_list(grid, list, 0, lowp::adamw{}, 4, lowp::nearest_even{});
  EXPECT_NE(sizes.find("sizes differ"), std::string::npos) << sizes;
  EXPECT_NE(sizes.find("in tensor 4"), std::string::npos) << sizes;

  list = tensors.list();
  list[2].p = list[1].p;  // tied weights
  list[2].g = list[1].g;
  list[2].m = list[1].m;
  list[2].v = list[1].v;
  EXPECT_EQ(update_list(grid, list, 0, lowp::adamw{}, 4, lowp::nearest_even{}),
            "update: tensors 1 and 2 share memory that is written");

  list = tensors.list();
  std::string const step = update_list(grid, list, 0, lowp::adamw{}, 0, lowp::nearest_even{});
  EXPECT_NE(step.find("step is 0"), std::string::npos) << step;
  EXPECT_EQ(update_list(grid, list, 0, lowp::adamw{.beta1 = 1 - 1e-9}, 4, lowp::nearest_even{}),
            "update: adamw: beta1 is 0.999999999, 1 as a float, not in [0, 1)");
  EXPECT_EQ(
      update_list(grid, list, 0, lowp::adamw{.lr = 1e38}, 1, lowp::nearest_even{}),
      "update: adamw: lr / (1 - beta1^step) is 9.999997615814777e+38, inf as a float, not finite");

  EXPECT_EQ(grid.launches, 0);
  EXPECT_TRUE(tensors == untouched);
}

// Tensors may share an array that is only read.
TEST(cuda_list, shares_what_is_only_read) {
  std::vector<float> a(30, 1.0f), b(30, 1.0f);
  std::vector<float> const u(30, 0.5f);
  std::vector<lowp::cuda::fused_add_tensor<float, float>> const list{{a, u}, {b, u}};
  simulated_grid grid(4);
  ASSERT_EQ(add_list(grid, list, 2.0f), "");
  EXPECT_EQ(a, std::vector<float>(30, 2.0f));
  EXPECT_EQ(b, a);
}

TEST(cuda_list, may_be_empty) {
  simulated_grid grid(4);
  std::vector<bfloat16> p;
  std::vector<float> v;
  for (adamw_list const& list : {adamw_list{}, adamw_list{{p, p, v, v}}}) {
    EXPECT_EQ(update_list(grid, list, 0, lowp::adamw{}, 1, lowp::nearest_even{}), "");
    EXPECT_EQ(update_list(grid, list, 0, lowp::adamw{}, 0, lowp::nearest_even{}),
              "update: adamw: step is 0, and counts from 1");
  }
  EXPECT_EQ(grid.launches, 0);
}

// The processor's list and single calls draw the same. Numbers of tensors take more than 8 bits.
TEST(cuda_list, draws_for_each_slot_of_each_tensor) {
  constexpr std::size_t tensors = 600;
  model alone(tensors, 20);
  model together(tensors, 20);
  model on_processor(tensors, 20);
  auto const modes = [](std::size_t tensor) { return lowp::per_slot{.param = mode_of(tensor)}; };
  for (std::size_t i = 0; i < tensors; ++i)
    lowp::update(alone.p[i].span(), alone.g[i].span(), alone.m[i].span(), alone.v[i].span(),
                 lowp::adamw{}, 4, modes(i));
  simulated_grid grid(4, 5);
  ASSERT_EQ(update_list(grid, together.list(), 0, lowp::adamw{}, 4, modes(0)), "");
  lowp::update(on_processor.list(), lowp::adamw{}, 4, modes(0));
  EXPECT_TRUE(together == alone);
  EXPECT_TRUE(on_processor == alone);
}

// A block's threads make the keys of each tile together, after the last tile's draws.
TEST(cuda_list, draws_by_keys_for_each_slot) {
  using T = lowp::bfloat16;
  using slots = std::vector<std::vector<T>>;
  constexpr std::size_t tensors = 3;
  constexpr std::size_t size = 1003;
  slots start(4 * tensors, std::vector<T>(size));
  for (std::size_t slot = 0; slot < start.size(); ++slot)
    for (std::size_t i = 0; i < size; ++i)
      start[slot][i] = T(static_cast<float>((i + slot) * 0x9e37 % 0xffff) / 0x10000);
  auto const list_of = [](slots& x) {
    std::vector<lowp::cuda::adamw_tensor<T, T, T, T>> list;
    for (std::size_t i = 0; i < x.size(); i += 4)
      list.push_back(
          {std::span(x[i]), std::span(x[i + 1]), std::span(x[i + 2]), std::span(x[i + 3])});
    return list;
  };
  for (std::uint64_t const offset : {0U, 123U}) {
    lowp::stochastic_fast const mode{.seed = 9, .stream = lowp::stream_of(70, 0), .offset = offset};
    slots want = start;
    lowp::update(list_of(want), lowp::adamw{}, 4, mode);
    EXPECT_NE(std::memcmp(want[0].data(), start[0].data(), size * sizeof(T)), 0);
    for (unsigned const threads : {4U, 64U}) {
      slots got = start;
      simulated_grid grid(threads, 2);
      ASSERT_EQ(update_list(grid, list_of(got), 0, lowp::adamw{}, 4, mode), "");
      for (std::size_t slot = 0; slot < got.size(); ++slot)
        EXPECT_EQ(std::memcmp(got[slot].data(), want[slot].data(), size * sizeof(T)), 0)
            << "slot " << slot << ", offset " << offset << ", " << threads << " threads";
    }
  }
}

}  // namespace
