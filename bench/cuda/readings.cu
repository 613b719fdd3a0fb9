// SPDX-License-Identifier: Apache-2.0
// Times operations that read a tensor and write next to nothing: a census, the range that a watch
// reads, and sums.
#include "suite.cuh"

#include <lowp/cuda/lowp.cuh>

#include <cmath>

namespace {

using lowp::bfloat16, lowp::float16, lowp::float8_e4m3fn;

constexpr auto equal_census = [](lowp::range_census const& a, lowp::range_census const& b) {
  for (unsigned i = 0; i < lowp::exponent_histogram::bins; ++i)
    if (a.exponents.counts[i] != b.exponents.counts[i]) return false;
  return a.count == b.count && a.nan == b.nan && a.infinite == b.infinite &&
         a.overflow == b.overflow && a.subnormal == b.subnormal && a.flushed == b.flushed &&
         a.max_abs.bits == b.max_abs.bits && a.min_abs.value() == b.min_abs.value() &&
         a.max_relative_error.bits == b.max_relative_error.bits;
};
constexpr auto equal_range = [](lowp::abs_range const& a, lowp::abs_range const& b) {
  return a.count == b.count && a.nan == b.nan && a.infinite == b.infinite &&
         a.overflow == b.overflow && a.max_abs.bits == b.max_abs.bits &&
         a.min_abs.value() == b.min_abs.value();
};

constexpr auto equal_gradients = [](lowp::gradient_report const& a,
                                    lowp::gradient_report const& b) {
  return a.count == b.count && a.nonfinite == b.nonfinite && a.largest.bits == b.largest.bits &&
         std::abs(a.squares.value() - b.squares.value()) <= 1e-12 * b.squares.value();
};
constexpr auto equal_sums = [](lowp::sum_report const& a, lowp::sum_report const& b) {
  return std::abs(a.value() - b.value()) <= 1e-12 * std::abs(b.value());
};

/// device(stream, in, report) must add what host(in) returns.
template <class T, class Report, class Device, class Host, class Equal>
void measure(bench::suite& all, std::string const& name, Device const& device, Host const& host,
             Equal const& equal) {
  std::size_t const count = bench::many;
  all.measure({name, count, count * sizeof(T), bench::sets_of(count * sizeof(T))}, [&] {
    auto const in = all.random<T>(count, bench::normal{1});
    auto* const report = all.zero<Report>();
    auto const run = [&](cudaStream_t stream, std::size_t i) { device(stream, in[i], report); };
    auto expected = host(std::span<T>());
    all.check_reading(run, [&](std::span<T> part) { expected += host(part); }, in);
    if (!equal(all.value_of(report), expected))
      throw std::runtime_error("the report differs from the host's");
    return all.time(run);
  });
}

template <class T, class To>
void measure_both(bench::suite& all, std::string const& types) {
  measure<T, lowp::census_report<To>>(
      all, "census/" + types + "/lowp",
      [](cudaStream_t stream, std::span<T> in, auto* report) {
        lowp::cuda::census(stream, in, report);
      },
      [](std::span<T> in) { return lowp::census<To>(in); }, equal_census);
  measure<T, lowp::abs_range_report<To>>(
      all, "abs_range/" + types + "/lowp",
      [](cudaStream_t stream, std::span<T> in, auto* report) {
        lowp::cuda::abs_range_of(stream, in, report);
      },
      [](std::span<T> in) { return lowp::abs_range_of<To>(in); }, equal_range);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::suite& all) {
    measure_both<float, float16>(all, "float->float16");
    measure_both<bfloat16, float16>(all, "bfloat16->float16");
    measure_both<bfloat16, float8_e4m3fn>(all, "bfloat16->float8_e4m3fn");
    measure<bfloat16, lowp::gradient_report>(
        all, "measure/bfloat16/lowp",
        [](cudaStream_t stream, std::span<bfloat16> in, auto* report) {
          lowp::cuda::measure(stream, in, report);
        },
        [](std::span<bfloat16> in) { return lowp::measure(in); }, equal_gradients);
    measure<bfloat16, lowp::sum_report>(
        all, "sum/bfloat16/lowp",
        [](cudaStream_t stream, std::span<bfloat16> in, auto* report) {
          lowp::cuda::sum(stream, in, report);
        },
        [](std::span<bfloat16> in) {
          lowp::sum_report part;
          lowp::sum(in, part);
          return part;
        },
        equal_sums);
  });
}
