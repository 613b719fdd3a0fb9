// SPDX-License-Identifier: Apache-2.0
// The vectors' files beside exact arithmetic; the digests beside published ones.
#include <vectors.hpp>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tool.hpp"

namespace {

using namespace lowp_test;

TEST(judge_vectors, have_published_digests) {  // FIPS 180-4's examples
  EXPECT_EQ(judge::sha256("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(judge::sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(judge::sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(judge_vectors, are_exact) {
  scratch_folder const folder;
  std::string const dir = folder.file("vectors");
  said const s = judged({"vectors", dir});
  ASSERT_EQ(s.status, 0) << s.err;
  auto const manifest = nlohmann::json::parse(contents(dir + "/manifest.json"));
  std::map<std::string, oracle::facts> formats;
  for (oracle::facts const& f : oracle::all) formats[f.name] = f;
  constexpr std::string_view modes[]{"nearest_even", "nearest_away", "toward_zero",
                                     "upward",       "downward",     "to_odd"};
  EXPECT_EQ(manifest["files"].size(), oracle::all.size() * 6);
  for (auto const& file : manifest["files"]) {
    std::string const name = file["file"], text = contents(dir + "/" + name);
    ASSERT_EQ(judge::sha256(text), file["sha256"]) << name;
    oracle::facts const& f = formats.at(file["to"]);
    auto const m = static_cast<oracle::mode>(
        std::find(std::begin(modes), std::end(modes), file["mode"].get<std::string>()) - modes);
    auto const policy =
        file["overflow"] == "infinity" ? oracle::policy::infinity : oracle::policy::saturate;
    std::istringstream lines(text);
    std::uint64_t count = 0, wrong = 0;
    std::uint32_t x = 0, result = 0, flags = 0;
    for (; lines >> std::hex >> x >> result >> flags; ++count) {
      bool overflowed = false;
      oracle::number const number = oracle::from_float_bits(x);
      wrong += oracle::encode(f, number, m, policy, 0, &overflowed) != result;
      bool const is_finite = number.what == oracle::kind::finite;
      if (f.is_signed && is_finite) {
        std::uint32_t const back = oracle::decode_to_float_bits(f, result);
        bool const is_tiny = (result & f.magnitude_mask()) < (1U << f.significand_bits);
        bool const is_inexact = overflowed || back != x;
        wrong += flags != (overflowed ? 5U : !is_inexact ? 0U : is_tiny ? 3U : 1U);
      }
    }
    EXPECT_EQ(wrong, 0U) << name;
    EXPECT_EQ(count, file["lines"].get<std::uint64_t>()) << name;
    EXPECT_GT(count, 4000U) << name;
  }
  said const again = judged({"vectors", dir});
  EXPECT_EQ(again.status, 2);
  EXPECT_TRUE(has(again.err, "is no empty folder")) << again.err;
  stop = true;
  EXPECT_EQ(judged({"vectors", folder.file("stopped")}).status, 130);
  stop = false;
  EXPECT_EQ(folder.names(), std::vector<std::string>{"vectors"});
}

}  // namespace
