// SPDX-License-Identifier: Apache-2.0
// All 2^32 floats, into every format, in every mode: one test for each pair, under the format's
// default policy. The other policy differs in the codes of overflow alone, which conformance/ has.
#include "support/all_floats.hpp"

namespace {

using namespace lowp_test;

class all_floats : public testing::Test {
 public:
  explicit all_floats(std::function<void()> check) : check_(std::move(check)) {}
  void TestBody() override { check_(); }

 private:
  std::function<void()> check_;
};

void add(oracle::facts const& f, std::string const& mode, std::function<void()> check) {
  testing::RegisterTest((std::string("all_floats_to_") + f.name).c_str(), mode.c_str(), nullptr,
                        nullptr, __FILE__, __LINE__,
                        [check]() -> testing::Test* { return new all_floats(check); });
}

template <class T>
void check_draw(std::uint16_t r) {
  oracle::policy const policy = oracle::default_policy(facts<T>);
  auto const segments = segments_of(facts<T>, oracle::mode::stochastic, policy, r);
  check_all_floats<T>(
      segments, "stochastic", [r](std::vector<float> const& floats, std::vector<T>& results) {
        std::transform(floats.begin(), floats.end(), results.begin(),
                       [r](float x) { return lowp::convert<T>(x, lowp::stochastic_bits{r}); });
      });
}

bool const added = [] {
  types_of<all_formats>::for_each([](auto type) {
    using T = typename decltype(type)::type;
    for_each_mode(
        [](auto const& m) { add(facts<T>, m.name, [m] { check_cast_of_all_floats<T>(m); }); });
    for (std::uint16_t const r : std::array<std::uint16_t, 2>{0x6b35, 0xffff}) {
      add(facts<T>, "stochastic_" + hex(r, 4), [r] { check_draw<T>(r); });
    }
  });
  return true;
}();

}  // namespace
