// SPDX-License-Identifier: Apache-2.0
// No result depends on what the caller left in MXCSR or FPCR, and no call changes it (A1).
#include "support/control_register.hpp"
#include "support/support.hpp"

#if defined(LOWP_TEST_CONTROL_REGISTER)
#include <lowp/io.hpp>
#include <lowp/lowp.hpp>
#include <lowp/watch.hpp>

#include <cstring>
#include <sstream>
#include <stdexcept>

namespace {

using namespace lowp_test;

struct inputs {
  std::vector<float> x, u;
};

// Subnormals of float and of every format, ties, overflow, all NaN.
inputs const& data() {
  static inputs const made = [] {
    inputs in;
    std::mt19937 random(71);
    for (int i = 0; i < 3000; ++i) {
      auto const bits = static_cast<std::uint32_t>(random());
      std::uint32_t const patterns[] = {bits, bits & 0x807fffffU, bits & 0xffff8000U,
                                        (bits & 0x83ffffffU) | 0x3c000000U};
      in.x.push_back(float_of(patterns[i % 4]));
      in.u.push_back(float_of(patterns[i / 4 % 4] ^ 0x00400000U));
    }
    return in;
  }();
  return made;
}

template <class T>
bool equal(std::vector<T> const& a, std::vector<T> const& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// In every state the results are those of the default one, and the state stays. Nothing but the
// library runs meanwhile.
template <class Results>
void check_states(Results const& fresh) {
  Results expected = fresh;
  expected.run();
  for (control const state : control_states()) {
    Results got = fresh;
    write_control(state);
    got.run();
    control const after = read_control();
    write_control(default_control);
    ASSERT_EQ(after, state) << hex(after, 16) << ' ' << hex(state, 16);
    ASSERT_TRUE(got == expected) << hex(state, 16);
  }
}

class environment : public testing::Test {
 protected:
  void TearDown() override { write_control(default_control); }
};

template <class T>
class environment_of : public environment {};
using some_formats = testing::Types<lowp::bfloat16, lowp::float16, lowp::float8_e5m2,
                                    lowp::float8_e8m0fnu, lowp::float4_e2m1fn>;
TYPED_TEST_SUITE(environment_of, some_formats, by_format);

template <class T>
struct casts {
  std::vector<T> nearest = std::vector<T>(data().x.size());
  std::vector<T> drawn = std::vector<T>(data().x.size());
  std::vector<float> widened = std::vector<float>(data().x.size());

  __attribute__((noinline)) void run() {
    lowp::cast(data().x, nearest);
    lowp::cast(data().x, drawn, lowp::stochastic{.seed = 5});
    lowp::cast(drawn, widened);
  }
  bool operator==(casts const& other) const {
    return equal(nearest, other.nearest) && equal(drawn, other.drawn) &&
           equal(widened, other.widened);
  }
};

TYPED_TEST(environment_of, casts_does_not_matter) { check_states(casts<TypeParam>{}); }

template <class T>
struct steps {
  std::vector<T> p;
  std::vector<float> m = std::vector<float>(data().x.size(), 0.5f);
  std::vector<float> v = std::vector<float>(data().x.size(), 1e-20f);
  double alpha = 0.3;  // rounded to float in the call
  lowp::update_report report{};

  steps() {
    for (float const x : data().x) p.push_back(T(x));
  }
  __attribute__((noinline)) void run() {
    lowp::fused_add(p, alpha, data().u, lowp::upward{});
    lowp::update(p, data().u, m, v, lowp::adamw{.lr = 0.1}, 3, lowp::nearest_even{}, report);
  }
  bool operator==(steps const& other) const {
    return equal(p, other.p) && equal(m, other.m) && equal(v, other.v) &&
           report.stalled == other.report.stalled && report.overflowed == other.report.overflowed;
  }
};

TEST_F(environment, of_steps_does_not_matter) {
  check_states(steps<lowp::bfloat16>{});
  check_states(steps<lowp::float8_e4m3fnuz>{});
}

template <class T>
struct conversions {
  std::vector<T> nearest = std::vector<T>(data().x.size());
  std::vector<T> narrow = std::vector<T>(data().x.size());
  std::vector<float> widened = std::vector<float>(data().x.size());

  __attribute__((noinline)) void run() {
    for (std::size_t i = 0; i < narrow.size(); ++i) {
      nearest[i] = lowp::convert<T>(data().x[i]);
      narrow[i] = lowp::convert<T>(data().x[i], lowp::downward{});
      widened[i] = lowp::convert<float>(narrow[i]);
    }
  }
  bool operator==(conversions const& other) const {
    return equal(nearest, other.nearest) && equal(narrow, other.narrow) &&
           equal(widened, other.widened);
  }
};

// A8's functions of scalars, and decimal text.
template <class T>
struct scalars {
  std::vector<T> roots = std::vector<T>(data().x.size()), fused = roots, least = roots,
                 largest = roots, next = roots, parsed = roots;
  std::vector<double> shortest = std::vector<double>(data().x.size());
  std::vector<std::array<char, 32>> text = std::vector<std::array<char, 32>>(data().x.size());

  __attribute__((noinline)) void run() {
    for (std::size_t i = 0; i < roots.size(); ++i) {
      T const x = of_code<T>(static_cast<std::uint32_t>(i * 23) % code_count<T>);
      T const y = of_code<T>(static_cast<std::uint32_t>(i * i) % code_count<T>);
      // Neighbours of x are what flushing subnormals makes equal to it.
      T const z = of_code<T>(x.bits() ^ 1U);
      roots[i] = sqrt(x);
      fused[i] = fma(x, i % 2 == 0 ? T(1) : z, i % 3 == 0 ? T(0) : y);
      least[i] = fmin(x, i % 2 == 0 ? y : z);
      largest[i] = fmax(x, i % 2 == 0 ? y : z);
      next[i] = nextafter(x, i % 2 == 0 ? y : z);
      shortest[i] = lowp::shortest(x);
      char* const end = to_chars(text[i].data(), text[i].data() + text[i].size(), x).ptr;
      from_chars(text[i].data(), end, parsed[i]);
    }
  }
  bool operator==(scalars const& other) const {
    return equal(roots, other.roots) && equal(fused, other.fused) && equal(least, other.least) &&
           equal(largest, other.largest) && equal(next, other.next) &&
           equal(parsed, other.parsed) && equal(shortest, other.shortest) && text == other.text;
  }
};

TYPED_TEST(environment_of, scalars_does_not_matter) { check_states(scalars<TypeParam>{}); }

// A stream's own arithmetic is the standard library's: what it is given is exact.
struct streams {
  std::string text;
  void run() {
    std::ostringstream out;
    for (std::uint32_t code = 1; code < 0x80; code += 9)
      out << of_code<lowp::bfloat16>(code) << ' ';
    text = out.str();
  }
  bool operator==(streams const&) const = default;
};

TEST_F(environment, of_streams_does_not_matter) {
  streams expected;
  expected.run();
  EXPECT_TRUE(expected.text.starts_with("9.18355e-41 ")) << expected.text;
  for (control const flush : flushes) {
    streams got;
    write_control(default_control | flush);
    got.run();
    write_control(default_control);
    EXPECT_EQ(got.text, expected.text) << hex(flush, 16);
  }
}

// Numbers that a call computes once, and numbers as text.
struct numbers {
  double tiny = 4e-310;
  float subnormal = 1e-40f;
  double third = 1.0 / 3, norm = 10.0 / 3;
  std::vector<lowp::bfloat16> narrow{of_code<lowp::bfloat16>(3)};
  std::vector<float> wide{subnormal};
  std::string text;
  std::vector<double> made;

  __attribute__((noinline)) void run() {
    text = lowp::detail::text_of(tiny) + ' ' + lowp::detail::text_of(subnormal) + ' ' +
           lowp::detail::rough_text_of(subnormal) + ' ' + lowp::detail::watch_number(subnormal);
    lowp::sgd const along =
        lowp::adafactor{.lr = third, .weight_decay = 0.01}.along(norm, 7, 1000, 7);
    lowp::typical_update const batch = lowp::update_of_batch(
        {.lr = third, .steps = 1000}, {.factor = 0.1, .noise = third, .lr_exponent = 0.5});
    made = {along.lr, along.weight_decay, batch.lr, batch.direction};
    text += std::to_string(batch.steps);
    lowp::stall_watch watch;
    watch.add("narrow", narrow);
    watch.add("wide", wide);
    for (auto const& tensor : watch.tensors()) made.push_back(tensor.largest_gap);
    text += lowp::stall_alarm{.tensor = 0, .step = 1, .lr = 0.1, .state = {}}.text();
    text += lowp::loss_scaler{.scale = -subnormal}.invalid();
  }
  bool operator==(numbers const& other) const {
    return text == other.text && equal(made, other.made);
  }
};

TEST_F(environment, of_numbers_does_not_matter) { check_states(numbers{}); }

TYPED_TEST(environment_of, conversions_does_not_matter) { check_states(conversions<TypeParam>{}); }

TEST_F(environment, of_a_refusal_is_not_changed) {
  std::vector<float> const in(5);
  std::vector<lowp::bfloat16> out(4);
  for (control const state : control_states()) {
    bool refused = false;
    write_control(state);
    try {
      lowp::cast(in, out);
    } catch (std::invalid_argument const&) {
      refused = true;
    }
    control const after = read_control();
    write_control(default_control);
    ASSERT_TRUE(refused);
    ASSERT_EQ(after, state) << hex(state, 16);
  }
}

}  // namespace
#endif
