// SPDX-License-Identifier: Apache-2.0
// Activations, gated or not, and their derivatives by the GPU's kernel: the bits of the host.
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

// Two operations of an activation, of one range and of two, on this thread and as a GPU's.
#define ACTIVATION(name, of_two)                                 \
  struct name {                                                  \
    static constexpr auto const& plain = lowp::name;             \
    static constexpr auto const& gated = lowp::of_two;           \
    template <class E>                                           \
    using plain_operation = lowp::detail::name##_operation<E>;   \
    template <class E>                                           \
    using gated_operation = lowp::detail::of_two##_operation<E>; \
  };
ACTIVATION(gelu_tanh, gated_gelu_tanh)
ACTIVATION(gelu, gated_gelu)
ACTIVATION(silu, silu_backward)
#undef ACTIVATION

template <class Activation, lowp::element In, lowp::element Out>
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
        lowp::stochastic const random_bits{1};
        Activation::plain(a.span(), want, random_bits);
        ASSERT_EQ(
            refusal_of<Activation::template plain_operation>(executor, a.span(), got, random_bits),
            "");
        expect_same();
        Activation::gated(a.span(), b.span(), want);
        ASSERT_EQ(
            refusal_of<Activation::template gated_operation>(executor, a.span(), b.span(), got),
            "");
        expect_same();
      }
}

TEST(cuda_activation, of_floats) {
  expect_bits_of_host<gelu_tanh, float, float>();
  expect_bits_of_host<gelu, float, float>();
  expect_bits_of_host<silu, float, float>();
}
TEST(cuda_activation, of_narrow_types) {
  expect_bits_of_host<gelu_tanh, lowp::float16, lowp::float16>();
  expect_bits_of_host<gelu_tanh, lowp::bfloat16, lowp::float8_e4m3fn>();
}

}  // namespace
