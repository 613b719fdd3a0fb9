// SPDX-License-Identifier: Apache-2.0
// A census of packs, a batch at a time. One look per batch finds that it lacks the rare cases.
#pragma once

#include <lowp/measure/census/census_lanes.hpp>

#include <cstdint>

#if !defined(__CUDA_ARCH__)
#include <lowp/measure/census/exponent_tally.hpp>

namespace lowp::detail {

LOWP_EXACT_BEGIN

template <census_target To, class Isa>
class census_of_batches {
  using F = simd::pack<float, Isa>;
  using U = simd::word<Isa>;
  using lanes_type = census_lanes<To, F>;
  using tally = simd::exponent_tally<Isa>;
  static constexpr int size = simd::batch<Isa>;

 public:
  struct scratch {
    alignas(64) std::uint32_t magnitudes[size];
    typename tally::scratch digits;
  };

  /// Looks only for errors above the largest in the census.
  LOWP_FN census_of_batches(scratch& memory, range_census& all)
      : magnitudes_(memory.magnitudes), all_(all), exponents_(memory.digits, all.exponents.counts) {
    lanes_.expect_error(all.max_relative_error);
  }

  LOWP_FN void add(F const& x) {
    lanes::magnitude(x).store(magnitudes_ + filled_);
    filled_ += Isa::lanes;
  }
  LOWP_FN void add_masked(lanes::mask<F> const& is_element, F const& x) {
    add(lanes::select(is_element, x, lanes::broadcast<F>(0)));
  }
  /// Ends a batch.
  LOWP_FN void fold() {
    for (; filled_ != size; filled_ += Isa::lanes)
      lanes::broadcast<U>(0).store(magnitudes_ + filled_);
    filled_ = 0;
    magnitude_range<U> range;
    for (int i = 0; i < size; i += Isa::lanes) range.add(at(i));
    if (lanes_type::has_rare(range)) [[unlikely]] {
      for (int i = 0; i < size; i += Isa::lanes) lanes_.add_magnitude(at(i));
    } else {
      lanes_.add_range(range);
      bool const has_small = lanes_type::has_small(range), compares = lanes_.may_find_larger();
      for (int i = 0; i < size; i += Isa::lanes) lanes_.add_ordinary(at(i), has_small, compares);
    }
    exponents_.add(magnitudes_, range);
    lanes_.fold();
  }
  LOWP_FN void finish(std::uint64_t count) {
    exponents_.count();
    all_.exponents.counts[0] += lanes_.tiny();
    all_.add(lanes_.total(count));
  }

 private:
  LOWP_FN U at(int i) const { return U::load(magnitudes_ + i); }

  std::uint32_t* magnitudes_;
  range_census& all_;
  int filled_ = 0;
  lanes_type lanes_;
  tally exponents_;
};

LOWP_EXACT_END

template <census_target To, class Isa>
struct lanes_of_report<census_report<To>, simd::pack<float, Isa>> {
  using type = census_of_batches<To, Isa>;
};

}  // namespace lowp::detail

#endif
