// SPDX-License-Identifier: Apache-2.0
// Lane operations on the packs of every backend that this machine has.
#pragma once

#include <gtest/gtest.h>
#include <lowp/simd/dispatch.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "oracle/softfloat.hpp"
#include "oracle/support.hpp"

namespace lowp_test {

template <class List>
struct backends_of;
template <class... Isa>
struct backends_of<lowp::simd::isa_list<Isa...>> {
  using type = testing::Types<Isa...>;
};
// All that the library can choose from, slowest first.
using backends = backends_of<lowp::simd::native::list>::type;

struct by_backend {
  template <class Isa>
  static std::string GetName(int) {
    return Isa::name;
  }
};

// A suite typed by backend, skipped if the machine lacks it.
template <class Isa>
class on_backend : public testing::Test {
 protected:
  void SetUp() override {
    if (!Isa::available()) GTEST_SKIP() << "this processor has no " << Isa::name;
  }
};

// Bit patterns: the three operands of an operation.
struct operands {
  std::vector<std::uint32_t> a, b, c;
  void add(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    a.push_back(x);
    b.push_back(y);
    c.push_back(z);
  }
  [[nodiscard]] std::size_t size() const { return a.size(); }
};

// Op::on<F>(a, b, c), whole packs at a time. Op::on is the same text for packs and for scalars.
template <class Op>
struct pack_kernel {
  std::uint32_t const* a;
  std::uint32_t const* b;
  std::uint32_t const* c;
  std::uint32_t* out;
  std::size_t size;

  template <class Isa>
  LOWP_HOST_FN void body() const {
    using registers = typename Isa::registers;
    using F = lowp::simd::pack<float, registers>;
    using U = lowp::simd::word<registers>;
    for (std::size_t i = 0; i < size; i += Isa::lanes) {
      U const x = U::load(a + i);
      U const y = U::load(b + i);
      U const z = U::load(c + i);
      U const r = Op::template on<F>(x, y, z);
      r.store(out + i);
    }
  }
};

// The size of `in` is a multiple of every backend's lanes.
template <class Isa, class Op>
std::vector<std::uint32_t> on_packs(operands const& in) {
  std::vector<std::uint32_t> out(in.size());
  Isa::enter(pack_kernel<Op>{in.a.data(), in.b.data(), in.c.data(), out.data(), in.size()});
  return out;
}

// A NaN that has not been stored yet may be any.
inline std::uint32_t any_nan(std::uint32_t bits) {
  return (bits & 0x7fffffffU) > 0x7f800000U ? 0x7fc00000U : bits;
}

}  // namespace lowp_test
