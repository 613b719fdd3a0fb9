// SPDX-License-Identifier: Apache-2.0
// Prints what dtype_codes_of has, a line of JSON a type.
#include <lowp/io.hpp>

#include <cstdio>
#include <optional>

#include "oracle/facts.hpp"

namespace {

void print(char const* key, std::optional<int> code) {
  if (code) std::printf("\"%s\": %d, ", key, *code);
}

template <lowp::has_dtype_codes T>
void print() {
  constexpr lowp::dtype_codes codes = lowp::dtype_codes_of<T>;
  std::printf("{");
  print("onnx", codes.onnx);
  print("gguf", codes.gguf);
  print("nccl", codes.nccl);
  if (codes.safetensors)
    std::printf("\"safetensors\": \"%.*s\", ", static_cast<int>(codes.safetensors->size()),
                codes.safetensors->data());
  std::printf("\"dlpack\": [%d, %d, %d], \"numpy\": \"%.*s\"}\n", codes.dlpack.code,
              codes.dlpack.bits, codes.dlpack.lanes, static_cast<int>(codes.numpy.size()),
              codes.numpy.data());
}

using of_my_own = lowp::basic_float<lowp::format{3, 2, 3}>;
static_assert(!lowp::has_dtype_codes<of_my_own> && !lowp::has_dtype_codes<int>);

}  // namespace

int main() {
  print<double>();
  print<float>();
  auto const print_if_named = [](auto x) {
    if constexpr (lowp::has_dtype_codes<decltype(x)>) print<decltype(x)>();
  };
#define PRINT(name, ...) print_if_named(lowp::name{});
  ORACLE_FORMATS(PRINT)
}
