// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cereal/archives/binary.hpp>
#include <cereal/archives/json.hpp>
#include <cereal/archives/portable_binary.hpp>
#include <cereal/archives/xml.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <lowp/cereal.hpp>
#include <lowp/value.hpp>

#include <cstdint>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

template <class T>
struct model {
  std::vector<T> weights;
  std::map<std::string, T> scales;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(weights), CEREAL_NVP(scales));
  }
};

template <class Writer, class Reader, class T>
void all_codes_survive() {
  model<T> written, read;
  for (std::uint32_t code = 0; code <= T::descriptor.code_mask(); ++code)
    written.weights.push_back(T::from_bits(static_cast<typename T::storage>(code)));
  written.scales["a"] = std::numeric_limits<T>::quiet_NaN();
  std::stringstream stream;
  Writer{stream}(written);
  Reader{stream}(read);
  ASSERT_EQ(read.weights.size(), written.weights.size());
  for (std::size_t i = 0; i < read.weights.size(); ++i) ASSERT_EQ(read.weights[i].bits(), i);
  EXPECT_EQ(read.scales.at("a").bits(), written.scales["a"].bits());
}

TEST(cereal, all_codes_survive) {
  using lowp::bfloat16;
  using lowp::float8_e4m3fn;
  all_codes_survive<cereal::BinaryOutputArchive, cereal::BinaryInputArchive, bfloat16>();
  all_codes_survive<cereal::PortableBinaryOutputArchive, cereal::PortableBinaryInputArchive,
                    bfloat16>();
  all_codes_survive<cereal::JSONOutputArchive, cereal::JSONInputArchive, bfloat16>();
  all_codes_survive<cereal::JSONOutputArchive, cereal::JSONInputArchive,
                    lowp::implicit<bfloat16>>();
  all_codes_survive<cereal::XMLOutputArchive, cereal::XMLInputArchive, bfloat16>();
  all_codes_survive<cereal::JSONOutputArchive, cereal::JSONInputArchive, float8_e4m3fn>();
  all_codes_survive<cereal::XMLOutputArchive, cereal::XMLInputArchive, float8_e4m3fn>();
}

TEST(cereal, a_code_with_more_bits_than_its_format_is_refused) {
  std::istringstream stream(R"({"value0": 31, "value1": 64})");
  cereal::JSONInputArchive archive(stream);
  lowp::float6_e2m3fn x, y(1);
  archive(x);
  EXPECT_EQ(x, 7.5f);
  try {
    archive(y);
    ADD_FAILURE();
  } catch (std::invalid_argument const& refused) {
    EXPECT_STREQ(refused.what(), "load_minimal: code 64 has more than 6 bits");
  }
  EXPECT_EQ(y, 1);
}

}  // namespace
