// SPDX-License-Identifier: Apache-2.0
// Asks for the backend before any other constructor of the program has run.
#include <lowp/simd/dispatch.hpp>

#include <cstdio>
#include <string>

namespace {
char early[32];
__attribute__((constructor(101))) void ask() { lowp::isa().copy(early, sizeof(early) - 1); }
}  // namespace

int main() { std::printf("%s", early); }
