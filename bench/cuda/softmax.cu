// SPDX-License-Identifier: Apache-2.0
// Softmax over rows of several lengths, in float inside and with every step but the sum in 16 bits.
#include "suite.cuh"

#include <lowp/cuda/lowp.cuh>

namespace {

using lowp::bfloat16, lowp::float16;

constexpr float typical = 3;  // of attention's scores

/// device(stream, in, out) must do what host(in, out) does.
template <class T, class Device, class Host>
void measure_rows(bench::suite& all, std::string const& name, Device const& device,
                  Host const& host) {
  std::size_t const count = bench::many;
  all.measure({name, count, count * 2 * sizeof(T), bench::sets_of(count * sizeof(T))}, [&] {
    auto const in = all.random<T>(count, bench::normal{typical});
    auto const out = all.output<T>(count);
    auto const run = [&](cudaStream_t stream, std::size_t i) { device(stream, in[i], out[i]); };
    all.check(
        run, [&](std::size_t, std::span<T> to, std::span<T> from) { host(from, to); }, out, in);
    return all.time(run);
  });
}

/// Rows of several lengths: device and host take the number of columns, too.
template <class T, class Device, class Host>
void measure_lengths(bench::suite& all, std::string const& type, std::string const& who,
                     Device const& device, Host const& host) {
  for (std::size_t const columns : {128, 1024, 8192})
    measure_rows<T>(
        all, "softmax/" + type + "/" + std::to_string(columns) + "/" + who,
        [=](cudaStream_t stream, std::span<T> in, std::span<T> out) {
          device(stream, in, out, columns);
        },
        [=](std::span<T> in, std::span<T> out) { host(in, out, columns); });
}

template <class T>
void measure(bench::suite& all, std::string const& type) {
  measure_lengths<T>(
      all, type, "lowp", [](auto... arguments) { lowp::cuda::softmax(arguments...); },
      [](auto... arguments) { lowp::softmax(arguments...); });
  if constexpr (lowp::narrow<T>)
    measure_lengths<T>(
        all, type, "all_in_16_bits",
        [](auto... arguments) { lowp::cuda::softmax_pb_relax(arguments..., 1.0f); },
        [](auto... arguments) { lowp::softmax_pb_relax(arguments..., 1.0f); });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::suite& all) {
    measure<float>(all, "float");
    measure<bfloat16>(all, "bfloat16");
    measure<float16>(all, "float16");
  });
}
