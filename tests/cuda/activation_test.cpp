// SPDX-License-Identifier: Apache-2.0
// gelu_tanh and gated_gelu_tanh by the GPU's kernel: the bits of the host.
#include <lowp/nn.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simulated_grid.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;

std::uint32_t code_of(float x) { return float_bits(x); }
template <lowp::narrow T>
std::uint32_t code_of(T x) {
  return x.bits();
}

template <lowp::element In, lowp::element Out>
void expect_bits_of_host() {
  for (std::size_t const size : {0U, 1U, 7U, 8U, 65U, 1001U})
    for (values const kind : {values::corners, values::training})
      for (unsigned const threads : {1U, 8U}) {
        SCOPED_TRACE(std::to_string(size) + " elements, " + std::to_string(threads) + " threads");
        tensor const x = random_tensor<In>(size, size, kind, 3);
        tensor const y = random_tensor<In>(size, size + 1, kind, 3);
        guarded<In> a(x, 1);
        guarded<In> b(y, 0);
        std::vector<Out> want(size);
        std::vector<Out> got(size);
        simulated_grid grid(threads, 3);
        lowp::cuda::on_grid<simulated_grid> const executor{grid};
        auto const expect_same = [&] {
          for (std::size_t i = 0; i < size; ++i)
            ASSERT_TRUE(has_bits(got[i], code_of(want[i]), a.span()[i], b.span()[i]));
        };
        lowp::gelu_tanh(a.span(), want, lowp::stochastic{1});
        ASSERT_EQ(refusal_of<lowp::detail::gelu_tanh_operation>(executor, a.span(), got,
                                                                lowp::stochastic{1}),
                  "");
        expect_same();
        lowp::gated_gelu_tanh(a.span(), b.span(), want);
        ASSERT_EQ(
            refusal_of<lowp::detail::gated_gelu_tanh_operation>(executor, a.span(), b.span(), got),
            "");
        expect_same();
      }
}

TEST(cuda_activation, of_floats) { expect_bits_of_host<float, float>(); }
TEST(cuda_activation, of_narrow_types) {
  expect_bits_of_host<lowp::float16, lowp::float16>();
  expect_bits_of_host<lowp::bfloat16, lowp::float8_e4m3fn>();
}

}  // namespace
