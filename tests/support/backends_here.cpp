// SPDX-License-Identifier: Apache-2.0
// Prints the backends that this machine has, as a list of CMake.
#include <lowp/simd/dispatch.hpp>

#include <cstdio>
#include <utility>

namespace {

template <class... Isa>
void print(lowp::simd::isa_list<Isa...>) {
  char const* separator = "";
  ((Isa::available() ? std::printf("%s%s", std::exchange(separator, ";"), Isa::name) : 0), ...);
}

}  // namespace

int main() { print(lowp::simd::native{}); }
