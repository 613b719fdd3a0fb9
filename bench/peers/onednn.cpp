// SPDX-License-Identifier: Apache-2.0
// oneDNN: a reorder that changes the type only, on one thread. Not to float16: where the processor
// has no arithmetic in it, version 2.6 runs its reference code, a hundred times slower.
#include "../cast.hpp"

#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

namespace {

template <class T>
constexpr auto type_of = dnnl::memory::data_type::f32;
template <>
constexpr auto type_of<lowp::bfloat16> = dnnl::memory::data_type::bf16;

/// A reorder of n elements, made once.
class reorder {
 public:
  reorder(dnnl::memory::data_type from, dnnl::memory::data_type to, std::size_t n)
      : in_(description(from, n), engine_, nullptr),
        out_(description(to, n), engine_, nullptr),
        reorder_(in_, out_) {}

  void operator()(void const* in, void* out) {
    in_.set_data_handle(const_cast<void*>(in));
    out_.set_data_handle(out);
    reorder_.execute(stream_, in_, out_);
    stream_.wait();
  }

 private:
  static dnnl::memory::desc description(dnnl::memory::data_type type, std::size_t n) {
    return {{static_cast<dnnl::memory::dim>(n)}, type, dnnl::memory::format_tag::a};
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::memory in_, out_;
  dnnl::reorder reorder_;
};

template <class From, class To>
void add_cast(bench::suite& cases, std::string const& name, bench::own_way allowed) {
  auto const reorders = std::make_shared<std::unordered_map<std::size_t, reorder>>();
  auto const cast = [=](std::span<From const> in, std::span<To> out) {
    auto const found = reorders->try_emplace(in.size(), type_of<From>, type_of<To>, in.size());
    found.first->second(in.data(), out.data());
  };
  bench::add_cast_peer<From, To>(cases, name + "/onednn", lowp::nearest_even{}, cast, allowed);
}

bench::peer const onednn("cast", [](bench::suite& cases) {
  bench::note_version("oneDNN", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH);
  omp_set_num_threads(1);
  using lowp::bfloat16;
  // Where there is an instruction for it, which flushes them.
  add_cast<float, bfloat16>(cases, "float->bfloat16/nearest_even", {.subnormal_inputs = true});
  add_cast<bfloat16, float>(cases, "bfloat16->float/exact", {});
});

}  // namespace
