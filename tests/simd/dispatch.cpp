// SPDX-License-Identifier: Apache-2.0
// For dispatch_test.cmake, which sets LOWP_ISA. Lists the backends of this machine, and says how
// each operation chooses if it is the first to need one.
#include <lowp/lowp.hpp>
#if defined(_OPENMP)
#include <lowp/openmp.hpp>
#endif

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

template <class... Isa>
void list(lowp::simd::isa_list<Isa...>) {
  ((void)std::printf("%s %s\n", Isa::available() ? "available" : "lacking",
                     std::string(Isa::name).c_str()),
   ...);
}

}  // namespace

int main(int count, char** arguments) {
  std::string_view const first = count > 1 ? arguments[1] : "isa";
  constexpr std::size_t size = 100001;  // enough for several threads
  std::vector<float> const ones(size, 1.0f);
  std::vector<lowp::bfloat16> p(size, lowp::bfloat16(3));
  list(lowp::simd::native{});
  for (int round = 0; round < 2; ++round) {  // the second call is like the first
    try {
      if (first == "cast") lowp::cast(ones, p);
      if (first == "fused_add") lowp::fused_add(p, 1.0f, ones);
      if (first == "update") lowp::update(p, ones, lowp::sgd{.lr = 1}, 1);
#if defined(_OPENMP)
      if (first == "openmp") lowp::openmp::cast(ones, p);
#endif
      if (first == "isa") (void)lowp::isa();
      setenv("LOWP_ISA", "made-up", 1);  // too late to matter
      std::printf("chosen %s\n", std::string(lowp::isa()).c_str());
    } catch (std::runtime_error const& error) {
      std::printf("refused %s\n", error.what());
      for (lowp::bfloat16 const x : p)
        if (x.bits() != 0x4040) std::printf("written before it was refused\n");
    }
  }
}
