// SPDX-License-Identifier: Apache-2.0
// The GPU's kernel without a GPU: every operation, format and kind of rounding, at every ragged length
// around a group and a tile, misaligned, between guard pages, for several shapes of the grid, with and
// without converting instructions, against the oracle.
#include <gtest/gtest.h>
#include <lowp/cuda/replay.hpp>
#include <lowp/lowp.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../conformance/guarded_pages.hpp"
#include "simulated_grid.hpp"

namespace {

using namespace lowp_test;

template <class T>
class cuda_kernel : public testing::Test {};
TYPED_TEST_SUITE(cuda_kernel, all_formats, by_format);

constexpr std::size_t longest = 150;

// body(grid, place): lengths to twice a tile; leads at which accesses are of 16, 4 and fewer bytes.
template <class Body>
void for_each_launch(Body body) {
  for (const unsigned threads : {1U, 4U}) {
    for (const std::uint64_t blocks : {std::uint64_t{1}, std::uint64_t{3}, ~std::uint64_t{0}}) {
      for (std::size_t size = 0; size <= longest; size += size < 70 ? 1 : 13) {
        for (const std::size_t lead : {0U, 2U, 1U, 4U, 8U}) {
          if ((size + lead) % 3 != blocks % 3 && size > 10) continue;  // all of them take minutes
          simulated_grid<documented_conversions> grid(threads, blocks);
          body(grid, place{size, false, lead});
          simulated_grid<no_conversions> software(threads, blocks);
          body(software, place{size, true, 0});
        }
      }
    }
  }
}

template <class Grid>
lowp::cuda::on_grid<Grid> on(Grid& grid) {
  return {grid};
}

TYPED_TEST(cuda_kernel, cast_from_float) {
  using T = TypeParam;
  const tensor in = random_tensor<float>(longest, 1, values::corners);
  guarded_pages<float> source;
  guarded_pages<T> target;
  for_each_rounding<modes::all>(
      [&](const auto& rounding, const slot_modes& mode, const char* name) {
        for (const named_policy& policy : policies) {
          SCOPED_TRACE(std::string(name) + ", " + policy.name);
          tensor want{slot_facts<T>(), in.codes};
          for (std::size_t i = 0; i < longest; ++i)
            store(want, i, in.codes[i], mode.param, 0, policy);
          for_each_launch([&](auto& grid, const place& where) {
            const auto from = source.put(in, where);
            const auto to = target.put(want, where);
            for (T& x : to) x = slot_value<T>(1);
            ASSERT_EQ(lowp::detail::cast_on(on(grid), from, to, rounding, policy.overflow), "");
            ASSERT_TRUE(target.holds(want, "out"));
          });
        }
      });
}

}  // namespace
