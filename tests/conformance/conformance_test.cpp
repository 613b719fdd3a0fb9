// SPDX-License-Identifier: Apache-2.0
// Every operation, format and rounding against the oracle: for every length to 300, at every
// alignment, between guard pages, in place and not; and casts of all codes, and of floats at every
// change of the result. All backends agree with the oracle, and so with each other.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/checksums.hpp"
#include "support/boundaries.hpp"
#include "support/guarded_pages.hpp"
#include "support/parts.hpp"

namespace {

using namespace lowp_test;

constexpr std::size_t longest = 300;

template <class T>
class conformance : public testing::Test {};
TYPED_TEST_SUITE(conformance, formats_of_this_part, by_format);

template <lowp::element To>
tensor oracle_cast(tensor const& from, slot_mode const& mode, oracle::policy policy) {
  tensor to{slot_facts<To>(), from.codes};
  for (std::size_t i = 0; i < from.size(); ++i)
    to.codes[i] = oracle::encode(to.format, oracle::decode(from.format, from.codes[i]), mode.mode,
                                 policy, mode.random(i, 0));
  return to;
}

TYPED_TEST(conformance, cast_from_float) {
  using T = TypeParam;
  tensor const in = random_tensor<float>(longest, 1, values::corners);
  guarded_pages<float> source;
  guarded_pages<T> target;
  for_each_rounding<modes::all>(
      [&](auto const& rounding, slot_modes const& mode, char const* name) {
        for (named_policy const& policy : policies) {
          SCOPED_TRACE(std::string(name) + ", " + policy.name);
          tensor const want = oracle_cast<T>(in, mode.param, policy.policy);
          for_each_place([&](place const& where) {
            auto const from = source.put(in, where);
            lowp::cast(from, target.put(want, {where.size, !where.at_end, where.lead}), rounding,
                       policy.overflow);
            ASSERT_TRUE(target.holds(want, "out"));
            ASSERT_TRUE(source.holds(in, "in"));
          });
        }
      });
}

TYPED_TEST(conformance, cast_to_float) {
  using T = TypeParam;
  tensor const in = random_tensor<T>(longest, 2, values::corners);
  tensor want{oracle::binary32, in.codes};
  for (std::uint32_t& code : want.codes) code = oracle::decode_to_float_bits(in.format, code);
  guarded_pages<T> source;
  guarded_pages<float> target;
  for_each_place([&](place const& where) {
    auto const from = source.put(in, where);
    lowp::cast(from, target.put(in, {where.size, !where.at_end, where.lead}));
    ASSERT_TRUE(target.holds(want, "out"));
    ASSERT_TRUE(source.holds(in, "in"));
  });
}

template <class T, class R>
void expect_boundaries(named_mode<R> const& m) {
  for (named_policy const& policy : policies) {
    auto const samples = boundaries(facts<T>, m.mode, policy.policy);
    std::vector<float> floats;
    for (sample const& s : samples) floats.push_back(s.x);
    std::vector<T> results(floats.size());
    lowp::cast(floats, results, m.rounding, policy.overflow);
    for (std::size_t i = 0; i < results.size(); ++i)
      ASSERT_TRUE(has_bits(results[i], samples[i].code, floats[i], m.name, policy.name));
  }
}

TYPED_TEST(conformance, cast_from_float_at_every_boundary) {
  for_each_mode([](auto const& m) { expect_boundaries<TypeParam>(m); });
}

// Formats of a program's own, too.
template <class T>
class codec : public testing::Test {};
using coded_formats =
    joined<kernel_formats,
           some_or_all<testing::Types<binary6p1se, binary8p4ue>, user_formats>>::type;
TYPED_TEST_SUITE(codec, part_of<coded_formats>::type, by_format);

TYPED_TEST(codec, decodes_every_code) {
  using T = TypeParam;
  std::vector<T> narrow;
  for (std::uint32_t code = 0; code < code_count<T>; ++code) narrow.push_back(of_code<T>(code));
  std::vector<float> wide(narrow.size());
  lowp::cast(narrow, wide);
  for (std::uint32_t code = 0; code < code_count<T>; ++code)
    ASSERT_TRUE(has_bits(wide[code], oracle::decode_to_float_bits(facts<T>, code), narrow[code]));
}

TYPED_TEST(codec, rounds_to_nearest_even_at_every_boundary) {
  expect_boundaries<TypeParam>(std::get<0>(deterministic_modes));
}

TYPED_TEST(conformance, cast_in_place) {
  using T = partner<TypeParam>;
  tensor const in = random_tensor<TypeParam>(longest, 3, values::corners);
  tensor const want = oracle_cast<T>(in, {}, oracle::default_policy(facts<T>));
  tensor const bytes{facts<T>, in.codes};
  guarded_pages<T> storage;
  for_each_place([&](place const& where) {
    auto const to = storage.put(bytes, where);
    lowp::cast(std::span(reinterpret_cast<TypeParam const*>(to.data()), to.size()), to);
    ASSERT_TRUE(storage.holds(want, "storage"));
  });
}

TYPED_TEST(conformance, fused_add) {
  using T = TypeParam;
  tensor const before = random_tensor<T>(longest, 4, values::corners);
  tensor const u = random_tensor<float>(longest, 5, values::corners);
  constexpr float alpha = -0.37f;
  guarded_pages<T> p;
  guarded_pages<float> addend;
  // ops/fused_add_test has the others.
  for_each_rounding<modes::two>(
      [&](auto const& rounding, slot_modes const& mode, char const* name) {
        SCOPED_TRACE(name);
        tensor want = before;
        oracle_fused_add(want, alpha, u, mode.param, {});
        for_each_place([&](place const& where) {
          auto const from = addend.put(u, {where.size, !where.at_end, where.lead});
          lowp::fused_add(p.put(before, where), alpha, from, rounding);
          ASSERT_TRUE(p.holds(want, "p"));
          ASSERT_TRUE(addend.holds(u, "u"));
        });
      });
}

TYPED_TEST(conformance, fused_add_to_itself) {
  using T = TypeParam;
  tensor const before = random_tensor<T>(longest, 6, values::corners);
  tensor want = before;
  oracle_fused_add(want, 0.75f, before, {}, {});
  guarded_pages<T> p;
  for_each_place([&](place const& where) {
    auto const range = p.put(before, where);
    lowp::fused_add(range, 0.75f, range);
    ASSERT_TRUE(p.holds(want, "p"));
  });
}

// Each mode in each slot; a second policy if the format's default is the first.
constexpr std::array<oracle::mode, 7> every_mode{
    oracle::mode::nearest_even, oracle::mode::nearest_away, oracle::mode::toward_zero,
    oracle::mode::upward,       oracle::mode::downward,     oracle::mode::to_odd,
    oracle::mode::stochastic};
slot_modes modes_from(std::size_t first) {
  auto const mode = [&](std::size_t slot) {
    return slot_mode{every_mode[(first + 2 * slot) % every_mode.size()], 11 + slot, 12 + slot,
                     0 - 13 * (slot + 1)};
  };
  return {mode(0), mode(1), mode(2)};
}

TYPED_TEST(conformance, sgd) {
  using T = TypeParam;
  tensor const params = random_tensor<slot<T>>(longest, 7, values::corners);
  tensor const gradients = random_tensor<T>(longest, 8, values::corners);
  tensor const momenta = random_tensor<slot<T>>(longest, 9, values::corners);
  lowp::sgd const settings{
      .lr = 0.3, .momentum = 0.9, .dampening = 0.1, .weight_decay = 0.02, .nesterov = true};
  guarded_pages<slot<T>> p;
  guarded_pages<T> g;
  guarded_pages<slot<T>> m;
  for (std::size_t first = 0; first < every_mode.size(); ++first) {
    SCOPED_TRACE(first);
    slot_modes const modes = modes_from(first);
    tensor want = params;
    tensor want_m = momenta;
    oracle_update(want, gradients, want_m, settings, 2, modes, {});
    for_each_place([&](place const& where) {
      auto const gradient = g.put(gradients, where);
      lowp::update(p.put(params, where), gradient,
                   m.put(momenta, {where.size, !where.at_end, where.lead}), settings, 2,
                   modes.library());
      ASSERT_TRUE(p.holds(want, "p"));
      ASSERT_TRUE(g.holds(gradients, "g"));
      ASSERT_TRUE(m.holds(want_m, "momentum"));
    });
  }
}

TYPED_TEST(conformance, adamw_and_its_report) {
  using T = slot<TypeParam>;
  tensor const params = random_tensor<T>(longest, 10, values::corners);
  tensor const gradients = random_tensor<float>(longest, 11, values::corners);
  tensor const firsts = random_tensor<float>(longest, 12, values::training);
  tensor const seconds = random_tensor<T>(longest, 13, values::corners);
  guarded_pages<T> p;
  guarded_pages<float> g;
  guarded_pages<float> m;
  guarded_pages<T> v;
  for (std::size_t first = 0; first < every_mode.size(); ++first) {
    SCOPED_TRACE(first);
    slot_modes const modes = modes_from(first);
    tensor want = params;
    tensor want_m = firsts;
    tensor want_v = seconds;
    std::vector<oracle::report> counts(1);  // counts[n]: the first n elements
    for (std::size_t i = 0; i < longest; ++i) {
      auto const one = [&](tensor const& t) { return tensor{t.format, {t.codes[i]}}; };
      tensor pi = one(params);
      tensor mi = one(firsts);
      tensor vi = one(seconds);
      slot_modes here = modes;
      for (slot_mode* slot : {&here.param, &here.first, &here.second}) slot->offset += i;
      oracle::report sum = oracle_update(pi, one(gradients), mi, vi, lowp::adamw{}, 5, here, {});
      sum.stalled += counts.back().stalled;
      sum.overflowed += counts.back().overflowed;
      sum.nonfinite += counts.back().nonfinite;
      counts.push_back(sum);
      want.codes[i] = pi.codes[0];
      want_m.codes[i] = mi.codes[0];
      want_v.codes[i] = vi.codes[0];
    }
    for_each_place([&](place const& where) {
      auto const gradient = g.put(gradients, where);
      lowp::update_report report;
      lowp::update(p.put(params, where), gradient, m.put(firsts, where),
                   v.put(seconds, {where.size, !where.at_end, where.lead}), lowp::adamw{}, 5,
                   modes.library(), report);
      ASSERT_TRUE(p.holds(want, "p"));
      ASSERT_TRUE(g.holds(gradients, "g"));
      ASSERT_TRUE(m.holds(want_m, "m"));
      ASSERT_TRUE(v.holds(want_v, "v"));
      ASSERT_EQ(report.count, where.size);
      ASSERT_EQ(report.stalled, counts[where.size].stalled) << where.size;
      ASSERT_EQ(report.overflowed, counts[where.size].overflowed) << where.size;
      ASSERT_EQ(report.nonfinite, counts[where.size].nonfinite) << where.size;
    });
  }
}

// A GPU must give these results as well.
struct on_the_processor {
  template <class... Arguments>
  void cast(Arguments&&... arguments) const {
    lowp::cast(arguments...);
  }
  template <class... Arguments>
  void fused_add(Arguments&&... arguments) const {
    lowp::fused_add(arguments...);
  }
  template <class... Arguments>
  void update(Arguments&&... arguments) const
    requires(sizeof...(Arguments) == 6)
  {
    lowp::update(arguments...);
  }
  template <class... Arguments>
  lowp::update_report update(Arguments&&... arguments) const {
    lowp::update_report report;
    lowp::update(arguments..., report);
    return report;
  }
};

TYPED_TEST(conformance, checksums) {
  on_the_processor backend;
  expect_known(checksums_of<TypeParam>(backend));
}

}  // namespace
