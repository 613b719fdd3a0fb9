// SPDX-License-Identifier: Apache-2.0
// oneDNN's primitives, from one array to another and on one thread.
#pragma once

#include "harness/peer.hpp"

#include <omp.h>
#include <lowp/lowp.hpp>
#include <oneapi/dnnl/dnnl.hpp>

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>

namespace bench::onednn {

template <class T>
inline constexpr auto type_of = dnnl::memory::data_type::f32;
template <>
inline constexpr auto type_of<lowp::bfloat16> = dnnl::memory::data_type::bf16;

inline dnnl::engine const& engine() {
  static dnnl::engine const cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

/// Returns true if it has fast code for bfloat16. Its reference code is slow, and loses the sign of
/// zero.
inline bool has_bfloat16() {
#if defined(__x86_64__)
  auto const least = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & least) == least;
#else
  return false;
#endif
}

/// n elements, and as rows.
inline dnnl::memory::desc elements(dnnl::memory::data_type type, std::size_t n) {
  return {{static_cast<dnnl::memory::dim>(n)}, type, dnnl::memory::format_tag::a};
}
inline dnnl::memory::desc rows(dnnl::memory::data_type type, std::size_t n, std::size_t columns) {
  auto const width = static_cast<dnnl::memory::dim>(columns);
  return {{static_cast<dnnl::memory::dim>(n) / width, width}, type, dnnl::memory::format_tag::ab};
}

/// A primitive and its arguments, of which the arrays are named anew each time.
class call {
 public:
  using arguments = std::unordered_map<int, dnnl::memory>;

  call(dnnl::primitive primitive, dnnl::memory::desc const& in, dnnl::memory::desc const& out,
       arguments others = {})
      : primitive_(std::move(primitive)), all_(std::move(others)) {
    all_.emplace(DNNL_ARG_SRC, dnnl::memory(in, engine(), nullptr));
    all_.emplace(DNNL_ARG_DST, dnnl::memory(out, engine(), nullptr));
  }

  void operator()(void const* in, void* out) {
    all_.at(DNNL_ARG_SRC).set_data_handle(const_cast<void*>(in));
    all_.at(DNNL_ARG_DST).set_data_handle(out);
    primitive_.execute(stream_, all_);
    stream_.wait();
  }

 private:
  dnnl::stream stream_{engine()};
  dnnl::primitive primitive_;
  arguments all_;
};

/// Runs the call that `make(n)` gives for n elements, which is made once.
template <class Make>
auto made_once(Make make) {
  auto const calls = std::make_shared<std::unordered_map<std::size_t, call>>();
  return [=](auto in, auto out) {
    auto found = calls->find(in.size());
    if (found == calls->end()) found = calls->emplace(in.size(), make(in.size())).first;
    found->second(in.data(), out.data());
  };
}

inline void begin() {
  note_version("oneDNN", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH);
  omp_set_num_threads(1);
}

}  // namespace bench::onednn
