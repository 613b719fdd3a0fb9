// SPDX-License-Identifier: Apache-2.0
// Steps of the GPU's kernel on every kind of storage, and on moments in blocks, against the exact
// sequence.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "simulated_grid.hpp"
#include "support/blocks.hpp"
#include "support/storages.hpp"

namespace {

using namespace lowp_test;

template <class Grid>
lowp::cuda::on_grid<Grid> on(Grid& grid) {
  return {grid};
}

template <class Kind>
class cuda_storage : public testing::Test {};
TYPED_TEST_SUITE(cuda_storage, storage_kinds, by_kind);

TYPED_TEST(cuda_storage, adamw_has_the_bits_of_the_exact_sequence) {
  using kind = TypeParam;
  std::mt19937_64 random(18);
  std::uint64_t seed = 0;
  for (bool const is_reported : {false, true}) {
    for (unsigned const threads : {is_reported ? 32U : 1U, is_reported ? 64U : 4U}) {
      for (std::size_t size = 0; size <= 150 && !this->HasFailure(); size += size < 20 ? 1 : 13) {
        SCOPED_TRACE(size);
        slot_modes const modes = random_modes(random);
        auto const& policy = maybe_policies[++seed % 3];
        values const in = seed % 2 == 0 ? values::corners : values::training;
        stored_tensor<kind> p(random_tensor<float>(size, 4 * seed, in));
        tensor const g = random_tensor<float>(size, 4 * seed + 1, in);
        tensor m = random_tensor<float>(size, 4 * seed + 2, in, 0.1);
        tensor v = random_tensor<float>(size, 4 * seed + 3, values::training, 0.1);
        for (std::uint32_t& code : v.codes) code &= 0x7fffffffU;
        guarded<typename kind::first> first(p.first, seed % 5);
        guarded<typename kind::second> second(p.second, seed % 3);
        guarded<float> mine_g(g, 0);
        guarded<float> mine_m(m, seed % 4);
        guarded<float> mine_v(v, seed % 2);
        simulated_grid grid(threads, seed % 2 == 0 ? 3 : ~std::uint64_t{0});
        lowp::update_report report;
        lowp::adamw const settings{.lr = 1e-3};
        auto const run = [&](auto&&... outcome) {
          return refusal_of<lowp::detail::update_operation>(
              on(grid), kind::view(first.span(), second.span()), mine_g.span(), mine_m.span(),
              mine_v.span(), settings, 7, modes.library(), outcome...);
        };
        ASSERT_EQ(is_reported ? (policy ? run(policy->overflow, report) : run(report))
                              : (policy ? run(policy->overflow) : run()),
                  "");
        oracle::report const want = oracle_update(p, g, m, v, settings, 7, modes, policy);
        EXPECT_TRUE(first.holds(p.first, "the first array"));
        EXPECT_TRUE(second.holds(p.second, "the second array"));
        EXPECT_TRUE(mine_m.holds(m, "m"));
        EXPECT_TRUE(mine_v.holds(v, "v"));
        if (is_reported) expect_report(report, want);
      }
    }
  }
}

TYPED_TEST(cuda_storage, resync_has_the_bits_of_the_processor) {
  using kind = TypeParam;
  using first = typename kind::first;
  using second = typename kind::second;
  using view = decltype(kind::view(std::span<first>(), std::span<second>()));
  if constexpr (requires(view v) { lowp::resync(v); })
    for (std::size_t size = 0; size <= 150; size += size < 20 ? 1 : 13) {
      guarded<first> a(random_tensor<first>(size, 2 * size, values::corners), size % 5);
      guarded<second> b(random_tensor<second>(size, 2 * size + 1, values::corners), size % 3);
      auto gpu_a = a;
      auto gpu_b = b;
      simulated_grid grid(4);
      lowp::resync(kind::view(a.span(), b.span()));
      ASSERT_EQ(refusal_of<lowp::detail::resync_operation>(on(grid),
                                                           kind::view(gpu_a.span(), gpu_b.span())),
                "");
      EXPECT_EQ(std::memcmp(gpu_a.span().data(), a.span().data(), a.span().size_bytes()), 0);
      EXPECT_EQ(std::memcmp(gpu_b.span().data(), b.span().data(), b.span().size_bytes()), 0);
    }
}

template <class Kind>
class cuda_blocks : public testing::Test {};
using kinds =
    testing::Types<block_kind<lowp::float8_e4m3fn, 128>, block_kind<lowp::float8_e5m2, 256>>;
TYPED_TEST_SUITE(cuda_blocks, kinds, by_block_kind);

// A warp has 32 threads, a block of elements 16 or 32 of them.
TYPED_TEST(cuda_blocks, moments_have_the_bits_of_the_exact_step) {
  using kind = TypeParam;
  using T = typename kind::type;
  for (std::size_t const size :
       std::array<std::size_t, 9>{0, 1, 127, 128, 129, 255, 257, 800, 1100}) {
    for (std::uint64_t const blocks : {std::uint64_t{2}, ~std::uint64_t{0}}) {
      SCOPED_TRACE(size);
      adamw_in_blocks<kind> want(size);
      guarded<float> p(want.p, 1);
      guarded<float> g(want.g, 2);
      guarded<T> m(want.m.codes, size % 4);
      guarded<T> v(want.v.codes, size % 3);
      guarded<lowp::float8_e8m0fnu> ms(want.m.scales, 1);
      guarded<lowp::float8_e8m0fnu> vs(want.v.scales, 3);
      for (std::uint64_t step = 1; step <= 2; ++step) {
        simulated_grid grid(32, blocks);
        lowp::update_report report;
        ASSERT_EQ(
            refusal_of<lowp::detail::update_operation>(
                on(grid), p.span(), g.span(), lowp::blocks_of<kind::block>(m.span(), ms.span()),
                lowp::blocks_of<kind::block>(v.span(), vs.span()), want.settings, step,
                want.modes.library(), report),
            "");
        want.take(step);
        EXPECT_EQ(report.count, size);
        EXPECT_TRUE(p.holds(want.p, "p"));
        EXPECT_TRUE(m.holds(want.m.codes, "m"));
        EXPECT_TRUE(v.holds(want.v.codes, "v"));
        EXPECT_TRUE(ms.holds(want.m.scales, "m.scales"));
        EXPECT_TRUE(vs.holds(want.v.scales, "v.scales"));
      }
    }
  }
}

}  // namespace
