// SPDX-License-Identifier: Apache-2.0
// mpi::communicator on as many ranks as mpiexec starts. Every expected number is a function of the
// leaves alone, computed element by element. So the ranks' numbers agree with any other number of
// ranks.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>
#include <lowp/mpi.hpp>

#include <climits>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using lowp::bfloat16;
using lowp::float16;
using lowp::float8_e4m3b11fnuz;
using lowp::float8_e4m3fn;
using lowp::float8_e5m2;
using lowp::shard;
namespace mpi = lowp::mpi;

// Returns the words of mpi::error. MPI itself would end the job: it still has its first error
// handler.
template <class Call>
std::string error_of(Call const& call) {
  try {
    call();
  } catch (mpi::error const& failed) {
    return failed.what();
  }
  return "nothing";
}

class mpi_session : public testing::Environment {
  void SetUp() override {
    std::string const early = "lowp::mpi: MPI_Init has not been called";
    EXPECT_EQ(error_of([] { mpi::communicator world(MPI_COMM_WORLD); }), early);
    EXPECT_EQ(error_of([] { mpi::datatype type(2); }), early);
    MPI_Init(nullptr, nullptr);
    refuse_what_is_no_group();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    last.emplace(MPI_COMM_WORLD);
    last_type.emplace(2);
  }
  // The communicator and the datatype outlive MPI, and then leave it alone.
  void TearDown() override {
    MPI_Finalize();
    std::string const late = "lowp::mpi: MPI_Finalize has been called";
    std::vector<float> total(last->shard_of(600).size);
    lowp::amax largest;
    lowp::sum_report report;
    auto const wire = lowp::wire<bfloat16>();
    EXPECT_EQ(error_of([] { mpi::communicator world(MPI_COMM_WORLD); }), late);
    EXPECT_EQ(error_of([] { mpi::datatype another(2); }), late);
    EXPECT_EQ(error_of([&] { last->reduce_scatter(std::vector<float>(600), total, wire); }), late);
    EXPECT_EQ(error_of([&] { last->all_gather(total); }), late);
    EXPECT_EQ(error_of([&] { last->merge(largest); }), late);
    EXPECT_EQ(error_of([&] { last->merge(report); }), late);
    EXPECT_EQ(error_of([&] { static_cast<void>(last->any(true)); }), late);
  }

  // A rank that stays out of a split, and a communicator that connects two groups.
  static void refuse_what_is_no_group() {
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2 == 0 ? 0 : MPI_UNDEFINED, 0, &half);
    std::string const said = error_of([&] { mpi::communicator world(half); });
    EXPECT_EQ(said, rank % 2 == 0 ? "nothing"
                                  : "lowp::mpi::communicator: comm is MPI_COMM_NULL: is this rank "
                                    "left out?");
    if (half != MPI_COMM_NULL) MPI_Comm_free(&half);
    if (size == 1) return;
    MPI_Comm side = MPI_COMM_NULL, both = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, rank % 2 == 0 ? 1 : 0, 0, &both);
    EXPECT_EQ(error_of([&] { mpi::communicator world(both); }),
              "lowp::mpi::communicator: comm has two groups: merge them first");
    MPI_Comm_free(&both);
    MPI_Comm_free(&side);
  }
  std::optional<mpi::communicator> last;
  std::optional<mpi::datatype> last_type;
};
testing::Environment* const session = testing::AddGlobalTestEnvironment(new mpi_session);

constexpr std::size_t leaf_count = 12;
constexpr std::size_t piece_sizes[] = {1, 20'000, 16 << 20};

using leaf = std::vector<float>;

float value_at(std::size_t l, std::size_t i) {
  std::uint32_t const word = lowp::philox4x32(
      {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(l), 0, 0}, {1, 2})[0];
  return std::ldexp(static_cast<float>(word >> 8) - 0x1p23f, -24 - static_cast<int>(word % 11));
}
float integer_at(std::size_t l, std::size_t i) {
  return static_cast<float>(static_cast<int>((i * 7 + l * 13) % 31) - 15);
}

template <class Value>
std::vector<leaf> leaves_of(mpi::communicator const& world, std::size_t count, Value const& value) {
  auto const r = static_cast<std::size_t>(world.rank()), n = static_cast<std::size_t>(world.size());
  std::vector<leaf> mine;
  for (std::size_t l = leaf_count * r / n; l < leaf_count * (r + 1) / n; ++l) {
    mine.emplace_back();
    for (std::size_t i = 0; i < count; ++i) mine.back().push_back(value(l, i));
  }
  return mine;
}

// Compares a reduction with `wire` of values with one that adds sent(l, i) in the order of leaves.
template <class Wire, class Sent>
void expect_sums(Wire const& wire, Sent const& sent) {
  for (std::size_t const count : {std::size_t{0}, std::size_t{1}, std::size_t{255},
                                  std::size_t{256}, std::size_t{1025}, std::size_t{5003}})
    for (std::size_t const bytes : piece_sizes) {
      mpi::communicator world(MPI_COMM_WORLD, bytes, bytes == 1 ? 1024 : 256);
      shard const own = world.shard_of(count);
      // Some ranks have several pieces more. A rank must not write more pieces than it has.
      std::vector<float> memory(own.size + 256, -1.0f);
      std::span<float> const sum = std::span(memory).first(own.size);
      world.reduce_scatter(leaves_of(world, count, value_at), sum, wire);
      for (float x : std::span(memory).subspan(own.size)) ASSERT_EQ(x, -1.0f) << count;
      for (std::size_t i = 0; i < sum.size(); ++i) {
        float expected = 0;
        for (std::size_t l = 0; l < leaf_count; ++l) expected += sent(l, own.first + i, count);
        ASSERT_EQ(sum[i], expected) << count << " elements, " << own.first + i;
      }
    }
}

TEST(Shards, CoverTheArrayInOrder) {
  for (std::uint64_t const count : {0ull, 1ull, 256ull, 257ull, 100'000ull, ~0ull - 5})
    for (int ranks : {1, 2, 3, 7, 100'000}) {
      std::uint64_t end = 0;
      for (int r = 0; r < ranks; ++r) {
        shard const s = lowp::shard_of(count, r, ranks);
        ASSERT_EQ(s.first, end);
        ASSERT_TRUE(s.size == 0 || s.first % 256 == 0);
        ASSERT_TRUE(r + 1 == ranks || s.size % 256 == 0);
        end = s.end();
      }
      ASSERT_EQ(end, count);
    }
}

TEST(ReduceScatter, AddsFloatsInTheOrderOfLeaves) {
  expect_sums(lowp::wire<float>(),
              [](std::size_t l, std::size_t i, std::size_t) { return value_at(l, i); });
}

TEST(ReduceScatter, SumsOfIntegersAreExact) {
  constexpr std::size_t count = 3000;
  mpi::communicator world(MPI_COMM_WORLD);
  shard const own = world.shard_of(count);
  std::vector<float> sum(own.size);
  world.reduce_scatter(leaves_of(world, count, integer_at), sum, lowp::wire<bfloat16>());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    int exact = 0;
    for (std::size_t l = 0; l < leaf_count; ++l)
      exact += static_cast<int>(integer_at(l, own.first + i));
    ASSERT_EQ(static_cast<int>(sum[i]), exact);
  }
}

// A leaf of a view that makes vectors would be gone before it is read.
template <class Leaf>
using list_of = std::ranges::transform_view<std::ranges::iota_view<int, int>, Leaf (*)(int)>;
static_assert(lowp::detail::leaf_argument<list_of<std::span<float>>>);
static_assert(lowp::detail::leaf_argument<list_of<leaf const&>>);
static_assert(!lowp::detail::leaf_argument<list_of<leaf>>);

TEST(ReduceScatter, RoundsEachLeafOnce) {
  expect_sums(lowp::wire<bfloat16>(), [](std::size_t l, std::size_t i, std::size_t) {
    return float(bfloat16(value_at(l, i)));
  });
  expect_sums(lowp::wire<float16>(), [](std::size_t l, std::size_t i, std::size_t) {
    return float(float16(value_at(l, i)));
  });
  expect_sums(lowp::wire<float8_e5m2>({}, 64), [](std::size_t l, std::size_t i, std::size_t) {
    return float(float8_e5m2(value_at(l, i) * 64)) / 64;
  });
}

TEST(ReduceScatter, StochasticBitsAreThoseOfLeafAndIndex) {
  lowp::stochastic const random{.seed = 5, .stream = lowp::stream_of(3, 9), .offset = 77};
  expect_sums(lowp::wire<bfloat16>(random), [&](std::size_t l, std::size_t i, std::size_t count) {
    return float(lowp::convert<bfloat16>(value_at(l, i), random.after(l * count + i)));
  });
}

TEST(ReduceScatter, BlocksAreThoseOfTheWholeLeaf) {
  lowp::stochastic const random{.seed = 6};
  expect_sums(lowp::block_wire<float8_e4m3fn>(random),
              [&](std::size_t l, std::size_t i, std::size_t count) {
                std::size_t const first = i / 32 * 32;
                float largest = 0;
                for (std::size_t j = first; j < first + 32 && j < count; ++j)
                  largest = std::fmax(largest, std::fabs(value_at(l, j)));
                int exponent = -127;
                while (largest > std::ldexp(448.0f, exponent)) ++exponent;
                float const code = float(lowp::convert<float8_e4m3fn>(
                    std::ldexp(value_at(l, i), -exponent), random.after(l * count + i)));
                return std::ldexp(code, exponent);
              });
}

TEST(ReduceScatter, TakesOneNarrowLeafOfEachRank) {
  mpi::communicator world(MPI_COMM_WORLD);
  std::vector<bfloat16> const g(700, bfloat16(world.rank() + 1));
  std::vector<float> sum(world.shard_of(700).size);
  world.reduce_scatter(g, sum, lowp::wire<bfloat16>());
  for (float x : sum) ASSERT_EQ(x, static_cast<float>(world.size() * (world.size() + 1) / 2));
}

TEST(ReduceScatter, ShowsWhatIsNotFinite) {
  mpi::communicator world(MPI_COMM_WORLD);
  auto const sent = [&](float bad, auto const& wire) {
    std::vector<float> g(1000, 1.0f), sum(world.shard_of(1000).size);
    if (world.rank() == world.size() - 1) g[999] = bad;
    world.reduce_scatter(g, sum, wire);
    return world.any(!sum.empty() && !std::isfinite(sum.back()));
  };
  for (float bad : {INFINITY, -INFINITY, NAN, 1e30f}) {
    EXPECT_TRUE(sent(bad, lowp::wire<float16>())) << bad;
    EXPECT_TRUE(sent(bad, lowp::wire<float8_e4m3fn>())) << bad;
    EXPECT_EQ(sent(bad, lowp::block_wire<float8_e4m3fn>()), !std::isfinite(bad)) << bad;
  }
  EXPECT_FALSE(sent(2, lowp::wire<float16>()));
}

TEST(AllGather, CopiesShardsInPlace) {
  for (std::size_t const count : {0u, 1u, 255u, 256u, 1024u, 5003u})
    for (std::size_t const bytes : piece_sizes) {
      mpi::communicator world(MPI_COMM_WORLD, bytes);
      shard const own = world.shard_of(count);
      std::vector<bfloat16> whole(count);
      for (std::size_t i = own.first; i < own.end(); ++i)
        whole[i] = bfloat16::from_bits(static_cast<std::uint16_t>(i * 2654435761u >> 7));
      world.all_gather(whole);
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(whole[i].bits(), static_cast<std::uint16_t>(i * 2654435761u >> 7)) << i;
    }
}

TEST(Merge, MaximumSkipsNan) {
  mpi::communicator world(MPI_COMM_WORLD);
  auto const merged = [&](float mine) {
    std::vector<float> const x{mine};
    lowp::amax largest = lowp::measure(x).largest;
    world.merge(largest);
    return largest.value();
  };
  EXPECT_EQ(merged(-static_cast<float>(world.rank() + 1)), static_cast<float>(world.size()));
  EXPECT_EQ(merged(world.rank() == 0 ? INFINITY : 1), INFINITY);
  EXPECT_EQ(merged(world.rank() == 0 ? NAN : INFINITY), world.size() == 1 ? 0 : INFINITY);
}

TEST(Merge, NormOfShardsHasTheBitsOfTheWhole) {
  mpi::communicator world(MPI_COMM_WORLD, 1 << 20, 1 << 14);
  leaf whole;
  for (std::size_t i = 0; i < 100'000; ++i) whole.push_back(value_at(0, i));
  shard const own = world.shard_of(whole.size());
  lowp::gradient_report merged = lowp::measure(std::span(whole).subspan(own.first, own.size));
  world.merge(merged);
  lowp::gradient_report const expected = lowp::measure(whole);
  EXPECT_EQ(merged.norm(), expected.norm());
  EXPECT_EQ(merged.count, expected.count);
}

TEST(Any, IsOneDecision) {
  mpi::communicator world(MPI_COMM_WORLD);
  EXPECT_FALSE(world.any(false));
  EXPECT_TRUE(world.any(world.rank() == world.size() - 1));
}

TEST(Datatype, MovesBytesAndIsNeverSummed) {
  mpi::datatype const type = mpi::datatype::of<bfloat16>();
  std::vector<bfloat16> x(10, bfloat16(3)), y(10);
  MPI_Sendrecv(x.data(), 10, type, 0, 1, y.data(), 10, type, 0, 1, MPI_COMM_SELF,
               MPI_STATUS_IGNORE);
  EXPECT_EQ(x, y);
  EXPECT_NE(MPI_Allreduce(x.data(), y.data(), 10, type, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
}

// Formats and a rounding of a program's own.
using shape = lowp::basic_float<lowp::format{4, 3, 8}>;
using other_shape = lowp::basic_float<lowp::format{4, 3, 9}>;

struct up_to_odd : lowp::to_odd {};

// Expects that every rank is refused, in words with `mine` on the last rank, `others` elsewhere.
// The next call works.
template <class Call>
void expect_refusal(mpi::communicator& world, std::string const& mine, std::string const& others,
                    Call const& call) {
  std::string said = "nothing";
  try {
    call();
  } catch (std::invalid_argument const& refused) {
    said = refused.what();
  }
  std::string const& expected = world.rank() == world.size() - 1 ? mine : others;
  EXPECT_NE(said.find(expected), std::string::npos) << said;
  EXPECT_EQ(said.rfind("lowp::mpi::communicator", 0), 0u) << said;
  EXPECT_FALSE(world.any(false));
}

TEST(Refusals, ReachEveryRankBeforeAnythingIsWritten) {
  mpi::communicator world(MPI_COMM_WORLD);
  bool const is_last = world.rank() == world.size() - 1;
  std::string const last = std::to_string(world.size() - 1);
  std::size_t const own = world.shard_of(600).size;
  std::vector<float> sum(own, -7), big(own + 1, -7);
  std::vector<leaf> good(2, leaf(600, 1)), uneven{leaf(600), leaf(599)}, none;
  auto const wire = lowp::wire<bfloat16>();

  std::string const elsewhere = "reduce_scatter: rank " + last + " refused its arguments";
  expect_refusal(world, "sizes differ: leaf 0 has 600, leaf 1 has 599", elsewhere,
                 [&] { world.reduce_scatter(is_last ? uneven : good, sum, wire); });
  expect_refusal(world,
                 "total has " + std::to_string(own + 1) +
                     " elements, this rank's shard of 600 has " + std::to_string(own),
                 elsewhere, [&] { world.reduce_scatter(good, is_last ? big : sum, wire); });
  expect_refusal(world, "scale is 3, not a power of two", elsewhere, [&] {
    world.reduce_scatter(good, sum, lowp::wire<bfloat16>({}, is_last ? 3.0f : 1.0f));
  });
  for (float bad : {0.0f, -2.0f, 0x1p-127f, 0x1p127f, float(INFINITY), float(NAN)})
    expect_refusal(world, "not a power of two", "not a power of two",
                   [&] { world.reduce_scatter(good, sum, lowp::wire<bfloat16>({}, bad)); });
  std::string const no_leaf = "rank " + last + " has no leaf";
  expect_refusal(world, no_leaf, no_leaf,
                 [&] { world.reduce_scatter(is_last ? none : good, sum, wire); });
  for (float x : sum) EXPECT_EQ(x, -7);
  for (float x : big) EXPECT_EQ(x, -7);
  std::span<float> const inside = std::span(good[1]).last(own);
  std::string const overlap = "reduce_scatter: leaf 1 (2400 bytes) and total (" +
                              std::to_string(4 * own) + " bytes) overlap: ";
  expect_refusal(world, overlap, elsewhere,
                 [&] { world.reduce_scatter(good, is_last ? inside : std::span(sum), wire); });
  for (float x : good[1]) EXPECT_EQ(x, 1);
  std::string const many = std::to_string((1 << 21) / world.size() + 1) + " leaves of " +
                           std::to_string(world.size()) + " ranks are too many for one message";
  std::vector<std::span<float const>> const nothing(
      static_cast<std::size_t>((1 << 21) / world.size() + 1));
  expect_refusal(world, many, many,
                 [&] { world.reduce_scatter(nothing, std::span<float>(), wire); });
  std::string const vast = is_last ? "whole has 549755813632 elements, beyond 256 * INT_MAX"
                                   : "all_gather: rank " + last;
  expect_refusal(world, vast, vast, [&] {
    world.all_gather(std::span(sum.data(), is_last ? 256 * std::size_t{INT_MAX} : 600));
  });

  if (world.size() == 1) return;
  std::vector<leaf> const longer(1, leaf(601));
  std::vector<float> longer_sum(world.shard_of(601).size, -7);
  std::string const sizes = "sizes differ: rank 0 has 600 elements, rank " + last + " has 601";
  expect_refusal(world, sizes, sizes, [&] {
    world.reduce_scatter(is_last ? longer : good, is_last ? longer_sum : sum, wire);
  });
  expect_refusal(world, sizes, sizes, [&] {
    std::vector<bfloat16> whole(is_last ? 601 : 600);
    world.all_gather(whole);
  });
  std::string const formats = "formats differ: rank 0 has bfloat16; rank " + last + " has float16";
  expect_refusal(world, formats, formats, [&] {
    if (is_last) {
      std::vector<float16> whole(600);
      world.all_gather(whole);
    } else {
      std::vector<bfloat16> whole(600);
      world.all_gather(whole);
    }
  });
  // Expects an error with the words of both wires.
  auto const differ = [&](auto const& others, std::string const& words, auto const& mine,
                          std::string const& words_of_mine) {
    std::string const text =
        "formats differ: rank 0 has " + words + "; rank " + last + " has " + words_of_mine;
    expect_refusal(world, text, text, [&] {
      if (is_last)
        world.reduce_scatter(good, sum, mine);
      else
        world.reduce_scatter(good, sum, others);
    });
  };
  std::string const plain = "bfloat16, scale 1, nearest_even";
  differ(wire, plain, lowp::wire<bfloat16>({}, 2), "bfloat16, scale 2, nearest_even");
  differ(wire, plain, lowp::wire<float16>(), "float16, scale 1, nearest_even");
  differ(wire, plain, lowp::wire<bfloat16>(lowp::toward_zero{}), "bfloat16, scale 1, toward_zero");
  differ(wire, plain, lowp::wire<bfloat16>(up_to_odd{}),
         "bfloat16, scale 1, rounding 2147483647 0 in 2147483647 0 in");
  differ(lowp::wire<shape>(), "format 4 3 8 0, scale 1, nearest_even", lowp::wire<other_shape>(),
         "format 4 3 9 0, scale 1, nearest_even");
  for (std::uint64_t lowp::stochastic::* member :
       {&lowp::stochastic::seed, &lowp::stochastic::stream, &lowp::stochastic::offset}) {
    lowp::stochastic random{1, 2, 3};
    random.*member = ~0ull;
    auto const text = [](lowp::stochastic const& s) {
      return "float8_e4m3b11fnuz, scale 8.507059e+37, stochastic of seed " +
             std::to_string(s.seed) + ", stream " + std::to_string(s.stream) + ", offset " +
             std::to_string(s.offset);
    };
    differ(lowp::wire<float8_e4m3b11fnuz>(lowp::stochastic{1, 2, 3}, 0x1p126f), text({1, 2, 3}),
           lowp::wire<float8_e4m3b11fnuz>(random, 0x1p126f), text(random));
  }
  differ(lowp::block_wire<float8_e4m3fn>(lowp::stochastic{4}),
         "float8_e4m3fn in blocks of 32, stochastic of seed 4, stream 0, offset 0",
         lowp::block_wire<float8_e4m3fn>(lowp::stochastic_fast{4}),
         "float8_e4m3fn in blocks of 32, stochastic_fast of seed 4, stream 0, offset 0");
  differ(lowp::block_wire<float8_e4m3fn>(), "float8_e4m3fn in blocks of 32, nearest_even",
         lowp::block_wire<float8_e4m3fn, 64>(), "float8_e4m3fn in blocks of 64, nearest_even");
  for (float x : sum) EXPECT_EQ(x, -7);
}

TEST(Refusals, NameSettingsThatAreWrongOrDiffer) {
  mpi::communicator world(MPI_COMM_WORLD);
  bool const is_last = world.rank() == world.size() - 1;
  std::string const last = std::to_string(world.size() - 1);
  auto const refused = [&](std::string const& text, std::size_t piece_bytes,
                           std::uint64_t granule) {
    expect_refusal(world, text, text, [&] {
      mpi::communicator(MPI_COMM_WORLD, is_last ? piece_bytes : 4096, is_last ? granule : 512);
    });
  };
  refused("granule is 100, not a multiple of 256", 4096, 100);
  refused("granule is 0, not a multiple of 256", 4096, 0);
  if (world.size() == 1) return;
  refused("granules differ: rank 0 has 512, rank " + last + " has 256", 4096, 256);
  refused("piece_bytes differ: rank 0 has 4096, rank " + last + " has 1", 1, 512);
}

TEST(Refusals, NameTheFunctionOfMpi) {
  MPI_Comm fatal = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &fatal);
  MPI_Comm_set_errhandler(fatal, MPI_ERRORS_ARE_FATAL);
  try {
    lowp::amax one;
    mpi::communicator(fatal).merge(std::span(&one, std::size_t{1} << 31));
    ADD_FAILURE();
  } catch (mpi::error const& failed) {
    EXPECT_EQ(std::string(failed.what()).rfind("MPI_Allreduce: MPI_ERR_COUNT", 0), 0u)
        << failed.what();
  }
  MPI_Comm_free(&fatal);
}

}  // namespace
