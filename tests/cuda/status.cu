// SPDX-License-Identifier: Apache-2.0
// Without exceptions, and without a GPU: what is wrong comes back as a status.
#include <lowp/cuda/lowp.cuh>

#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#if defined(__cpp_exceptions)
#error "this is to be built without exceptions"
#endif

namespace {

int failures = 0;

void expect(bool condition, char const* what, lowp::cuda::status const& status) {
  if (condition) return;
  ++failures;
  std::printf("%s: got \"%s\", code %d\n", what, status.message().c_str(),
              static_cast<int>(status.code()));
}

}  // namespace

int main() {
  std::vector<float> a(8), b(7);
  std::vector<lowp::bfloat16> p(8);

  auto const sizes = lowp::cuda::try_cast(nullptr, a, b);
  expect(!sizes.ok() && sizes.message() == "cast: sizes differ: in has 8, out has 7" &&
             sizes.code() == cudaSuccess,
         "sizes", sizes);

  auto const step = lowp::cuda::try_update(nullptr, p, a, lowp::sgd{.lr = 1}, 0);
  expect(step.message() == "update: sgd: step is 0, and counts from 1", "step", step);

  lowp::update_report report;
  auto const counted = lowp::cuda::try_update(nullptr, p, a, lowp::sgd{.lr = 1}, 0, &report);
  expect(counted.message() == step.message(), "a report without a rounding", counted);
  auto const null = lowp::cuda::try_update(nullptr, p, a, lowp::sgd{.lr = 1}, 1,
                                           static_cast<lowp::update_report*>(nullptr));
  expect(null.message() == "the report is a null pointer", "a null report", null);
  using update = decltype(lowp::cuda::update);
  static_assert(std::is_invocable_v<update, cudaStream_t, std::vector<float>&, std::vector<float>&,
                                    lowp::sgd, int, lowp::update_report*>);
  static_assert(!std::is_invocable_v<update, cudaStream_t, std::vector<float>&, float*, lowp::sgd,
                                     int, lowp::update_report*>);
  static_assert(!std::is_invocable_v<update, cudaStream_t, std::vector<float>&, std::vector<float>&,
                                     lowp::sgd, int, std::span<lowp::update_report>>);

  std::vector<lowp::cuda::sgd_tensor<lowp::bfloat16, float>> const list{{p, a}, {p, a}};
  auto const tied = lowp::cuda::try_update(nullptr, list, lowp::sgd{.lr = 1}, 1);
  expect(!tied.ok(), "the same tensor twice", tied);

  std::vector<lowp::cuda::sgd_tensor<lowp::bfloat16, float>> const no_tensors;
  auto const listed_none = lowp::cuda::try_update(nullptr, no_tensors, lowp::sgd{.lr = 1}, 1,
                                                  std::span<lowp::update_report>());
  expect(listed_none.ok(), "an empty list and its reports", listed_none);
  std::vector<lowp::update_report> reports(1);
  auto const few = lowp::cuda::try_update(nullptr, list, lowp::sgd{.lr = 1}, 1, reports);
  expect(few.message() == "update: 1 reports for a list of 2 tensors", "few reports", few);

  std::vector<float> const none;
  auto const empty = lowp::cuda::try_cast(nullptr, none, std::span<lowp::bfloat16>());
  expect(empty.ok(), "nothing to do", empty);

  // Host memory: without a driver the error is CUDA's, not one of the arguments.
  auto const is_right = [](lowp::cuda::status const& host, char const* text) {
    return !host.ok() && (host.message().find(text) == 0) == (host.code() == cudaSuccess);
  };
  auto const host = lowp::cuda::try_cast(nullptr, a, p);
  expect(is_right(host, "cast: in is "), "host memory", host);
  std::vector<lowp::cuda::sgd_tensor<lowp::bfloat16, float>> const one{{p, a}};
  auto const listed = lowp::cuda::try_update(nullptr, one, lowp::sgd{.lr = 1}, 1);
  expect(is_right(listed, "update: p is "), "host memory in a list", listed);
  return failures;
}
