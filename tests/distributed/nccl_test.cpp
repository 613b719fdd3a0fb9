// SPDX-License-Identifier: Apache-2.0
// nccl::communicator without a GPU: its kernels on simulated threads, its messages over MPI. It
// gives the bits of mpi::communicator.
#include <gtest/gtest.h>
#include <lowp/distributed/nccl/communicator.hpp>
#include <lowp/lowp.hpp>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cuda/simulated_grid.hpp"
#include "nccl_on_mpi.hpp"
#include "support/refusals.hpp"

namespace {

using lowp::bfloat16;
using lowp::float8_e4m3fn;
using lowp_test::refusal_of;

class mpi_session : public testing::Environment {
  void SetUp() override { MPI_Init(nullptr, nullptr); }
  void TearDown() override { MPI_Finalize(); }
};
testing::Environment* const session = testing::AddGlobalTestEnvironment(new mpi_session);

struct grid_on_stream : lowp_test::simulated_grid_without_conversions {
  struct outcome_of_grid {
    std::string what;
    void or_throw() const {
      if (!what.empty()) throw std::invalid_argument(what);
    }
  };
  explicit grid_on_stream(cudaStream_t) {}
  outcome_of_grid outcome() const { return {--good_outcomes < 0 ? "a kernel failed" : refused}; }
  static inline int good_outcomes = 1 << 30;  // for a test to set
};
using communicator = lowp::nccl::basic_communicator<grid_on_stream>;

ncclComm_t some_comm() {
  static int here;
  return reinterpret_cast<ncclComm_t>(&here);
}

template <class Wire>
void expect_bits_of_mpi(Wire const& wire) {
  for (std::size_t const count : {std::size_t{1}, std::size_t{700}, std::size_t{2561}})
    for (std::size_t const bytes : {std::size_t{32} << 10, std::size_t{1} << 20}) {
      std::vector<std::byte> scratch(bytes);
      communicator const world(some_comm(), nullptr, scratch);
      lowp::mpi::communicator reference(MPI_COMM_WORLD);
      ASSERT_EQ(world.size(), reference.size());
      std::vector<std::vector<float>> leaves(3, std::vector<float>(count));
      for (std::size_t l = 0; l < leaves.size(); ++l)
        for (std::size_t i = 0; i < count; ++i)
          leaves[l][i] =
              std::sin(static_cast<float>(i + 1000 * l) + static_cast<float>(world.rank()));
      std::vector<float> total(world.shard_of(count).size, -1.0f), expected(total.size());
      world.reduce_scatter(leaves, total, wire);
      reference.reduce_scatter(leaves, expected, wire);
      for (std::size_t i = 0; i < total.size(); ++i) ASSERT_EQ(total[i], expected[i]) << i;
    }
}

TEST(Nccl, HasTheBitsOfMpi) {
  lowp::stochastic const random{.seed = 4, .stream = 5};
  expect_bits_of_mpi(lowp::wire<float>());
  expect_bits_of_mpi(lowp::wire<bfloat16>(random));
  expect_bits_of_mpi(lowp::wire<float8_e4m3fn>(lowp::nearest_even{}, 64));
  expect_bits_of_mpi(lowp::block_wire<float8_e4m3fn>(random));
}

TEST(Nccl, GathersInPlaceAndMergesMaxima) {
  std::vector<std::byte> scratch(1024);
  communicator const world(some_comm(), nullptr, scratch);
  std::vector<bfloat16> whole(5003);
  lowp::shard const own = world.shard_of(whole.size());
  for (std::size_t i = own.first; i < own.end(); ++i)
    whole[i] = bfloat16::from_bits(static_cast<std::uint16_t>(i));
  world.all_gather(whole);
  for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_EQ(whole[i].bits(), i);

  lowp::amax largest{world.rank() == 0 ? 0x7fc00000u : 0x7f800000u};
  world.merge(largest);
  EXPECT_EQ(largest.bits, 0x7fc00000u);
  std::uint32_t flag = world.rank() == world.size() - 1 ? 1 : 0;
  world.any(flag);
  EXPECT_EQ(flag, 1u);
}

// Once before the codes are sent, and once for the sums.
TEST(Nccl, SaysThatAKernelFailed) {
  std::vector<std::byte> scratch(1 << 20);
  communicator const world(some_comm(), nullptr, scratch);
  std::vector<float> leaf(5000), total(world.shard_of(leaf.size()).size);
  auto const said = [&](int good_outcomes) {
    grid_on_stream::good_outcomes = good_outcomes;
    std::string const refusal =
        refusal_of([&] { world.reduce_scatter(leaf, total, lowp::wire<float>()); });
    grid_on_stream::good_outcomes = 1 << 30;
    return refusal;
  };
  sends = 0;
  EXPECT_EQ(said(0), "a kernel failed");
  EXPECT_EQ(sends, 0);
  EXPECT_EQ(said(1), "a kernel failed");
  EXPECT_EQ(said(2), "not refused");
}

// A group that stays open would keep the messages of all later calls.
TEST(Nccl, EndsTheGroupOfAFailedMessage) {
  std::vector<std::byte> scratch(1 << 20);
  communicator const world(some_comm(), nullptr, scratch);
  std::vector<float> leaf(5000), total(world.shard_of(leaf.size()).size);
  is_broken = true;
  EXPECT_THROW(world.reduce_scatter(leaf, total, lowp::wire<float>()), lowp::nccl::error);
  EXPECT_FALSE(std::exchange(is_group, false));
  EXPECT_THROW(world.all_gather(leaf), lowp::nccl::error);
  EXPECT_FALSE(std::exchange(is_group, false));
  is_broken = false;
}

TEST(Nccl, RefusesByName) {
  std::vector<std::byte> scratch(1024);
  EXPECT_EQ(refusal_of([&] { communicator(some_comm(), nullptr, scratch, 7); }),
            "lowp::nccl::communicator: granule is 7, not a multiple of 256");
  try {
    communicator(nullptr, nullptr, scratch);
    ADD_FAILURE();
  } catch (lowp::nccl::error const& failed) {
    EXPECT_STREQ(failed.what(), "ncclCommUserRank: failed");
  }

  communicator const world(some_comm(), nullptr, scratch);
  std::vector<std::vector<float>> leaves(2, std::vector<float>(600));
  std::vector<float> total(world.shard_of(600).size), longer(total.size() + 1);
  auto const refused = [&](auto const& values, auto& to) {
    return refusal_of([&] { world.reduce_scatter(values, to, lowp::wire<float>()); });
  };
  std::string const name = "lowp::nccl::communicator::reduce_scatter: ";
  EXPECT_EQ(refused(leaves, total), name + "scratch has 1024 bytes, and needs " +
                                        std::to_string(2 * 2 * world.size() * 1024 + 512));
  EXPECT_EQ(refused(leaves, longer).rfind(name + "total has ", 0), 0u);
  std::span<float> inside(leaves[1].data(), total.size());
  if (!inside.empty()) {
    EXPECT_EQ(refused(leaves, inside).rfind(name + "leaf 1 (2400 bytes) and total (", 0), 0u);
  }
  std::span const lent(reinterpret_cast<float const*>(scratch.data()), 200);
  std::vector<float> of_lent(world.shard_of(200).size);
  EXPECT_EQ(refused(lent, of_lent), name +
                                        "leaf 0 (800 bytes) and scratch (1024 bytes) overlap: "
                                        "leaf 0 starts 0 bytes into scratch");
  leaves.clear();
  EXPECT_EQ(refused(leaves, total), name + "there is no leaf");
}

}  // namespace
