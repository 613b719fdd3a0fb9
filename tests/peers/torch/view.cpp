// SPDX-License-Identifier: Apache-2.0
// Spans of real tensors: every type, shape and refusal.
#include <lowp/torch.hpp>
// Other headers follow: the first one needs no other.
#include <lowp/cast.hpp>
#include <lowp/fused_add.hpp>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace {

using lowp::bfloat16;
using lowp::float16;

/// Returns the text of the error that a call throws.
template <class Call>
std::string refusal(Call const& call) {
  try {
    call();
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  return "accepted";
}
std::string refusal_of(at::Tensor const& tensor) {
  return refusal([&] { static_cast<void>(lowp::view<bfloat16>(tensor)); });
}

/// Returns a tensor that claims to lie on a GPU. Its memory is the processor's.
at::Tensor claimed_by_gpu(std::vector<bfloat16>& memory) {
  return at::for_blob(memory.data(), {static_cast<std::int64_t>(memory.size())})
      .options(at::dtype(at::kBFloat16).device(at::kCUDA, 0))
      .target_device(at::Device(at::kCUDA, 0))
      .make_tensor();
}

template <class... T>
concept viewed = requires(at::Tensor const& tensor) { lowp::view<T...>(tensor); };
static_assert(viewed<> && viewed<float, bfloat16> && viewed<float, float const>);
static_assert(!viewed<float, float> && !viewed<double>);

template <class T>
class view_of : public testing::Test {};
struct names {
  template <class T>
  static std::string GetName(int) {
    return c10::toString(lowp::detail::torch_dtype<T>);
  }
};
using types = testing::Types<float, bfloat16, float16, lowp::float8_e4m3fn, lowp::float8_e5m2,
                             lowp::float8_e4m3fnuz, lowp::float8_e5m2fnuz, lowp::float8_e8m0fnu>;
TYPED_TEST_SUITE(view_of, types, names);

TYPED_TEST(view_of, every_value_is_the_one_that_torch_has) {
  using T = TypeParam;
  constexpr auto dtype = lowp::detail::torch_dtype<T>;
  // Codes that count up. Those of 32 bits are all small.
  constexpr auto bits = sizeof(T) == 1 ? at::kByte : sizeof(T) == 2 ? at::kShort : at::kInt;
  at::Tensor const tensor = at::arange(65536, at::kInt).to(bits).view(dtype);
  auto const span = lowp::view<T>(tensor);
  static_assert(std::is_same_v<decltype(span), std::span<T> const>);
  ASSERT_EQ(span.size(), static_cast<std::size_t>(tensor.numel()));
  EXPECT_EQ(static_cast<void const*>(span.data()), tensor.const_data_ptr());

  at::Tensor const theirs = tensor.to(at::kFloat);
  auto const expected = lowp::view<float const>(theirs);
  std::vector<float> ours(span.size());
  if constexpr (lowp::narrow<T>)
    lowp::cast(span, ours);
  else
    ours.assign(span.begin(), span.end());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (std::isnan(expected[i]))
      ASSERT_TRUE(std::isnan(ours[i])) << i;
    else
      ASSERT_EQ(ours[i], expected[i]) << i;
  }

  auto const any = lowp::view(tensor);
  EXPECT_TRUE(std::holds_alternative<std::span<T>>(any));
  EXPECT_EQ(std::visit([](auto s) { return static_cast<void const*>(s.data()); }, any),
            tensor.const_data_ptr());
}

TEST(view, writes_into_the_tensor) {
  at::Tensor const p = at::ones({3, 5}, at::kBFloat16);
  at::Tensor const u = at::full({3, 5}, 0.25, at::kFloat);
  lowp::fused_add(lowp::view<bfloat16>(p), 2.0f, lowp::view<float const>(u));
  EXPECT_TRUE(p.equal(at::full({3, 5}, 1.5, at::kBFloat16)));
}

TEST(view, begins_at_the_offset_of_the_tensor) {
  at::Tensor const whole = at::arange(12, at::kFloat).view({3, 4});
  auto const row = lowp::view<float>(whole[1]);
  ASSERT_EQ(row.size(), 4u);
  EXPECT_EQ(row.data(), lowp::view<float>(whole).data() + 4);
}

TEST(view, of_some_types) {
  auto const size = [](at::Tensor const& tensor) {
    return std::visit([](auto s) { return s.size_bytes(); }, lowp::view<float, bfloat16>(tensor));
  };
  EXPECT_EQ(size(at::zeros({2, 3}, at::kFloat)), 24u);
  EXPECT_EQ(size(at::zeros({2, 3}, at::kBFloat16)), 12u);
  EXPECT_EQ(refusal([&] { size(at::zeros({2, 3}, at::kHalf)); }),
            "lowp::view: a tensor of Half, sizes [2, 3], strides [3, 1], on cpu: it must be of "
            "Float or BFloat16");
}

TEST(view, a_span_of_constants_copies_no_shared_memory) {
  at::Tensor const tensor = at::zeros({4}, at::kFloat);
  at::Tensor const clone = at::_lazy_clone(tensor);
  EXPECT_EQ(lowp::view<float const>(tensor).data(), lowp::view<float const>(clone).data());
  EXPECT_NE(lowp::view<float>(tensor).data(), lowp::view<float const>(clone).data());
}

TEST(view, empty_tensors_and_scalars) {
  EXPECT_EQ(lowp::view<float>(at::zeros({0, 3}, at::kFloat)).size(), 0u);
  EXPECT_EQ(lowp::view<float>(at::zeros({}, at::kFloat)).size(), 1u);
}

TEST(view, refuses_by_name) {
  auto const made = [](std::initializer_list<std::int64_t> sizes) {
    return at::zeros(sizes, at::kBFloat16);
  };
  EXPECT_EQ(refusal_of({}), "lowp::view: the tensor is undefined");
  EXPECT_EQ(refusal_of(made({2, 3}).to(at::kFloat)),
            "lowp::view: a tensor of Float, sizes [2, 3], strides [3, 1], on cpu: it must be of "
            "BFloat16");
  EXPECT_EQ(refusal_of(made({2}).to(at::kComplexFloat)),
            "lowp::view: a tensor of ComplexFloat, sizes [2], strides [1], on cpu: it must be of "
            "BFloat16");
  EXPECT_EQ(refusal_of(made({2, 3}).t()),
            "lowp::view: a tensor of BFloat16, sizes [3, 2], strides [1, 3], on cpu: it must be "
            "contiguous");
  EXPECT_EQ(refusal_of(made({1, 2, 3, 4}).contiguous(at::MemoryFormat::ChannelsLast)),
            "lowp::view: a tensor of BFloat16, sizes [1, 2, 3, 4], strides [24, 1, 8, 2], on cpu: "
            "it must be contiguous");
  EXPECT_EQ(refusal_of(made({2, 3}).to_sparse()),
            "lowp::view: a tensor of BFloat16, on cpu: its layout is not strided");
  EXPECT_EQ(refusal_of(at::_nested_tensor_from_tensor_list({made({2}), made({3})})),
            "lowp::view: a tensor of BFloat16, on cpu: its layout is not strided");
  EXPECT_EQ(refusal_of(at::empty({2}, at::dtype(at::kBFloat16).device(at::kMeta))),
            "lowp::view: a tensor of BFloat16, sizes [2], strides [1], on meta: it must be on cpu");
  EXPECT_EQ(refusal_of(at::_neg_view(made({2}))),
            "lowp::view: a tensor of BFloat16, sizes [2], strides [1], on cpu: its elements are "
            "negated lazily: call resolve_neg()");
  std::vector<bfloat16> memory(4);
  EXPECT_EQ(
      refusal_of(at::from_blob(reinterpret_cast<char*>(memory.data()) + 1, {2}, at::kBFloat16)),
      "lowp::view: a tensor of BFloat16, sizes [2], strides [1], on cpu: its elements are "
      "not aligned");
}

TEST(view, of_a_pointer_to_elements_of_pytorch) {
  at::Tensor const tensor = at::full({4}, 1.5, at::kBFloat16);
  std::span<bfloat16> const span = lowp::view(tensor.data_ptr<at::BFloat16>(), 4);
  EXPECT_EQ(span[3], 1.5f);
  span[3] = 2.0f;
  EXPECT_EQ(tensor[3].item<float>(), 2.0f);
  static_assert(std::is_same_v<decltype(lowp::view(static_cast<at::Half const*>(nullptr), 1)),
                               std::span<float16 const>>);
}

TEST(view, of_a_gpu) {
  std::vector<bfloat16> memory(6);
  at::Tensor const tensor = claimed_by_gpu(memory);
  EXPECT_EQ(lowp::cuda::view<bfloat16>(tensor).data(), memory.data());
  EXPECT_EQ(lowp::cuda::view<bfloat16>(tensor).size(), memory.size());
  EXPECT_TRUE(std::holds_alternative<std::span<bfloat16>>(lowp::cuda::view(tensor)));
  EXPECT_EQ(refusal_of(tensor),
            "lowp::view: a tensor of BFloat16, sizes [6], strides [1], on cuda:0: it must be on "
            "cpu");
  at::Tensor const host = at::zeros({6}, at::kBFloat16);
  EXPECT_EQ(refusal([&] { static_cast<void>(lowp::cuda::view<bfloat16>(host)); }),
            "lowp::cuda::view: a tensor of BFloat16, sizes [6], strides [1], on cpu: it must be on "
            "cuda");
}

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
