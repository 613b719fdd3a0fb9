// SPDX-License-Identifier: Apache-2.0
// Softmax over rows of several lengths.
#include "harness/main.hpp"
#include "maps.hpp"

#include <lowp/nn.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

template <class In, class Out, class Run>
void add_rows(bench::suite& cases, std::string const& name, std::size_t columns, Run run,
              std::size_t least = 0) {
  least = std::max(least, columns);
  cases.add<bench::map_traffic<In, Out>>(
      name + "/" + std::to_string(columns),
      bench::timed_map<In, Out>({bench::scores, least},
                                [=](auto in, auto out) { run(in, out, columns); }),
      least);
}

template <class In, class Out = In>
void add_softmax(bench::suite& cases, std::string const& name) {
  for (std::size_t const columns : bench::softmax_columns)
    add_rows<In, Out>(cases, name, columns,
                      [](auto in, auto out, std::size_t n) { bench::on::softmax(in, out, n); });
}

template <class T>
void add_log_softmax(bench::suite& cases, std::string const& name) {
  for (std::size_t const columns : bench::softmax_columns)
    add_rows<T, T>(cases, "log/" + name, columns,
                   [](auto in, auto out, std::size_t n) { bench::on::log_softmax(in, out, n); });
}

// Every fourth score is masked. A mask of one sequence's queries serves all; its bytes are left out
// of the traffic.
template <class T>
void add_masked(bench::suite& cases, std::string const& name) {
  constexpr std::size_t columns = 1024;
  std::vector<std::uint8_t> mask(64 * columns);
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = i % 4 == 0;
  add_rows<T, T>(
      cases, "scale_mask/" + name, columns,
      [mask](auto in, auto out, std::size_t n) {
        bench::on::scale_mask_softmax(in, mask, out, n, 0.5f);
      },
      mask.size());
}

// The choices of those who had nothing but 16 bits, without and with CogView's PB-Relax.
template <class T>
void add_relaxed(bench::suite& cases, std::string const& name, float alpha) {
  for (std::size_t const columns : bench::softmax_columns)
    add_rows<T, T>(cases, name, columns, [=](auto in, auto out, std::size_t n) {
      bench::on::softmax_pb_relax(in, out, n, alpha);
    });
}

void add_cases(bench::suite& cases) {
  add_softmax<float>(cases, "float");
  add_softmax<lowp::bfloat16>(cases, "bfloat16");
  add_softmax<lowp::float16>(cases, "float16");
  add_softmax<float, lowp::float16>(cases, "float->float16");
  add_log_softmax<float>(cases, "float");
  add_log_softmax<lowp::bfloat16>(cases, "bfloat16");
  add_log_softmax<lowp::float16>(cases, "float16");
  add_masked<float>(cases, "float");
  add_masked<lowp::bfloat16>(cases, "bfloat16");
  add_masked<lowp::float16>(cases, "float16");
  add_relaxed<lowp::float16>(cases, "all_in/float16", 1);
  add_relaxed<lowp::float16>(cases, "pb_relax/float16", 32);
  add_relaxed<lowp::bfloat16>(cases, "all_in/bfloat16", 1);
}

}  // namespace

int main(int argc, char** argv) { return bench::run_suite("softmax", argc, argv, add_cases); }
