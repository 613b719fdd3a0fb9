// SPDX-License-Identifier: Apache-2.0
// Stochastic converters: one as it should be, and faults that each draw hides.
#include "tool.hpp"

namespace {

using namespace lowp_test;
using drawn = std::function<std::uint64_t(std::uint32_t x, std::uint32_t r)>;

std::uint64_t right(std::uint32_t x, std::uint32_t r) {
  return oracle::encode(oracle::bfloat16, oracle::from_float_bits(x), oracle::mode::stochastic,
                        oracle::policy::infinity, r & 0xffff);
}

// Draws by `random(i)`. The second call of a pair starts at `again`.
said judged_draws(drawn const& convert, std::function<std::uint64_t(std::uint64_t)> const& random,
                  std::uint64_t again = 0) {
  scratch_folder const folder;
  std::string const in = folder.file("in.npy"), out = folder.file("out.bin");
  EXPECT_EQ(judged({"inputs", "--to", "bfloat16", "--stochastic", "-o", in}).status, 0);
  EXPECT_LT(contents(in).size(), 6U << 20);
  std::vector<std::uint64_t> const x = words_of_npy(contents(in), 4);
  auto const write = [&](std::string const& path, std::uint64_t first) {
    std::vector<std::uint64_t> codes;
    for (std::uint64_t i = 0; i < x.size(); ++i)
      codes.push_back(
          convert(static_cast<std::uint32_t>(x[i]), static_cast<std::uint32_t>(random(first + i))));
    set_contents(path, bytes_of(codes, 2));
  };
  write(out, 0);
  if (again == 0) return judged({"name", in, out, "--to", "bfloat16"});
  write(folder.file("again.bin"), again);
  return judged({"name", in, out, folder.file("again.bin"), "--to", "bfloat16"});
}
std::uint64_t random(std::uint64_t i) { return judge::mixed(i) >> 16; }

void expect(said const& s, int status, std::string const& phrase) {
  EXPECT_EQ(s.status, status) << s.out << s.err;
  EXPECT_TRUE(has(s.out, phrase)) << s.out;
}

TEST(judge_chance, names_stochastic_rounding) {
  said const s = judged_draws(right, random, 1ULL << 40);
  expect(s, 0, "\n  stochastic: each neighbour by its distance; p-value");
  for (char const* const fault : {"shared", "repeated", "a bias of", "no neighbours"})
    EXPECT_FALSE(has(s.out, fault)) << s.out;
}
TEST(judge_chance, finds_a_bias_of_two_to_the_minus_16) {
  expect(judged_draws([](std::uint32_t x, std::uint32_t r) { return (x + (r & 0xffff) + 1) >> 16; },
                      random),
         0, "a bias of about 2^-16: exact values moved in ");
}
TEST(judge_chance, finds_few_bits) {
  expect(
      judged_draws([](std::uint32_t x, std::uint32_t r) { return right(x, r & 0xff00); }, random),
      0, "stochastic with 8 random bits: the rest is truncated");
}
TEST(judge_chance, finds_shared_and_repeated_bits) {
  expect(judged_draws(right, [](std::uint64_t i) { return random(i / 2); }), 1,
         "bits are shared: draws 1 apart");
  expect(judged_draws(right, [](std::uint64_t i) { return random(i % 32); }), 1,
         "bits are shared: draws 32 apart");
  expect(judged_draws(
             right, [](std::uint64_t i) { return random(i & 0xffffffffff); }, 1ULL << 40),
         1, "bits are repeated between the two calls");
}
TEST(judge_chance, finds_wrong_probabilities_and_results) {
  expect(judged_draws([](std::uint32_t x, std::uint32_t r) { return right(x, (r & 0xffff) / 2); },
                      random),
         1, "no probabilities of a rule");
  expect(judged_draws(
             [](std::uint32_t x, std::uint32_t r) { return right(x, r) ^ (r % 999 == 0 ? 2 : 0); },
             random),
         1, "results are no neighbours of their numbers");
}

}  // namespace
