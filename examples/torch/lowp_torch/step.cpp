// SPDX-License-Identifier: Apache-2.0
// Steps for optimizer.py, over the memory of PyTorch's tensors. It needs no header of PyTorch. A
// library serves one kind of parameters; build.py has the command:
//
//     LOWP_TORCH_OPTIMIZER  adamw, lion or direction
//     LOWP_TORCH_ELEMENT    float32, bfloat16 or float16
//     LOWP_TORCH_STORAGE    plain, kahan, master, corrected8 or corrected16
//     LOWP_TORCH_MOMENT     a member of moments
//     LOWP_TORCH_ROUNDING   nearest_even, stochastic or stochastic_fast
//     LOWP_TORCH_GRADIENT   float32, bfloat16 or float16, unless it is ELEMENT
//
// nvcc compiles it for tensors on a GPU, whose storage is plain.
#include <lowp/cast.hpp>
#include <lowp/update.hpp>
#ifdef __CUDACC__
#include <lowp/cuda/lowp.cuh>
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using float32 = float;
using lowp::bfloat16, lowp::float16;
using element = LOWP_TORCH_ELEMENT;
using rounding = lowp::LOWP_TORCH_ROUNDING;
#ifdef LOWP_TORCH_GRADIENT
using gradient = LOWP_TORCH_GRADIENT;
#else
using gradient = element;
#endif

/// Elements that share a fingerprint. Codes that share a scale lie in one block.
constexpr std::size_t block = 256;

// These structs stand in optimizer.py too.
struct report {
  std::uint64_t count, stalled, overflowed, nonfinite;
  double applied, requested;
};
struct tensor {
  element* p;
  gradient const* g;
  void *m, *v;
  void *m_scales, *v_scales;  ///< of codes
  void* extra;                ///< compensation, master weights or error bits
  std::uint64_t* written;     ///< a fingerprint for each block of p after the last step
  std::uint64_t n;
  char const* name;
  std::uint64_t restarted;  ///< out: blocks of p that were written from outside
  std::uint32_t number;     ///< keys the random bits
  std::int32_t checks;      ///< false if p is to be trusted
  report outcome;           ///< out, if reports are asked for
};
struct settings {
  double lr, beta1, beta2, eps, weight_decay;
  std::uint64_t seed, step;
  void *stream, *scratch;  ///< of a GPU; `scratch` has room for a report of each tensor's number
  std::int32_t reports;
  std::int32_t checked;     ///< true if no tensor shares memory, and all are aligned
  std::uint64_t restarted;  ///< out: the sum of those of all tensors
  char error[1000];         ///< out
};

report outcome_of(lowp::update_report const& r) {
  return {r.count, r.stalled, r.overflowed, r.nonfinite, r.applied.value(), r.requested.value()};
}

/// Returns the rounding of a step, from element `first` of a tensor.
template <class R = rounding>
R rounding_of([[maybe_unused]] settings const& s, [[maybe_unused]] tensor const& t,
              [[maybe_unused]] std::size_t first) {
  if constexpr (R::is_stochastic)
    return {s.seed, lowp::stream_of(t.number, s.step), first};
  else
    return {};
}

// Storages of elements first to first + n.
template <class T>
struct plain {
  using extra = T;  // not there
  static auto of(tensor const& t, std::size_t first, std::size_t n) {
    return std::span<T>(t.p + first, n);
  }
};
template <class T>
struct kahan {
  using extra = bfloat16;
  static auto of(tensor const& t, std::size_t first, std::size_t n) {
    return lowp::kahan{std::span<T>(t.p + first, n),
                       std::span(static_cast<extra*>(t.extra) + first, n)};
  }
};
template <class T>
struct master {
  using extra = float;
  static auto of(tensor const& t, std::size_t first, std::size_t n) {
    return lowp::master{std::span(static_cast<extra*>(t.extra) + first, n),
                        std::span<T>(t.p + first, n)};
  }
};
template <class T, class E>
struct corrected {
  using extra = E;
  static auto of(tensor const& t, std::size_t first, std::size_t n) {
    return lowp::corrected_master{std::span<T>(t.p + first, n),
                                  std::span(static_cast<extra*>(t.extra) + first, n)};
  }
};
template <class T>
using corrected8 = corrected<T, std::int8_t>;
template <class T>
using corrected16 = corrected<T, std::int16_t>;
using storage = LOWP_TORCH_STORAGE<element>;
using extra = storage::extra;
constexpr bool has_extra = !std::is_same_v<storage, plain<element>>;

// Moments, signed or not: numbers, or codes that share scales.
namespace moments {
template <bool>
using none = std::span<float>;  // not there
template <bool>
using float32 = std::span<float>;
template <bool>
using bfloat16 = std::span<lowp::bfloat16>;
template <bool IsSigned>
using uint8 = lowp::dynamic_blocks<IsSigned>;
template <bool IsSigned>
using companded = lowp::companded_blocks<IsSigned>;
}  // namespace moments
using first_moment = moments::LOWP_TORCH_MOMENT<true>;
using second_moment = moments::LOWP_TORCH_MOMENT<false>;

/// Returns the arrays of a moment.
template <class M>
auto arrays_of(M const& moment) {
  if constexpr (requires { moment.parts(); })
    return moment.parts();
  else
    return std::tuple(moment);
}

/// Returns elements first to first + n of an array of T.
template <class T>
std::span<T> subrange(std::span<T>, void* data, std::size_t first, std::size_t n) {
  return {static_cast<T*>(data) + first, n};
}

/// Returns elements first to first + n of a moment; `first` is a multiple of the block.
template <class M>
M moment_of(void* data, [[maybe_unused]] void* scales, std::size_t first, std::size_t n) {
  if constexpr (requires { M::elements_per_scale; }) {
    constexpr std::size_t shared = M::elements_per_scale;
    static_assert(block % shared == 0);
    auto const [codes, of_codes] = M().parts();
    return {subrange(codes, data, first, n),
            subrange(of_codes, scales, first / shared, M::blocks(n))};
  } else {
    return subrange(M(), data, first, n);
  }
}

// Optimizers: their hyper-parameters, and elements first to first + n of a tensor.
struct adamw {
  [[maybe_unused]] static lowp::adamw rates(settings const& s) {
    return {s.lr, s.beta1, s.beta2, s.eps, s.weight_decay};
  }
  [[maybe_unused]] static auto of(tensor const& t, std::size_t first, std::size_t n,
                                  std::string_view name) {
    return lowp::adamw_tensor{storage::of(t, first, n), std::span(t.g + first, n),
                              moment_of<first_moment>(t.m, t.m_scales, first, n),
                              moment_of<second_moment>(t.v, t.v_scales, first, n), name};
  }
};
struct lion {
  [[maybe_unused]] static lowp::lion rates(settings const& s) {
    return {s.lr, s.beta1, s.beta2, s.weight_decay};
  }
  [[maybe_unused]] static auto of(tensor const& t, std::size_t first, std::size_t n,
                                  std::string_view name) {
    return lowp::momentum_tensor{storage::of(t, first, n), std::span(t.g + first, n),
                                 moment_of<first_moment>(t.m, t.m_scales, first, n), name};
  }
};
struct direction {
  [[maybe_unused]] static lowp::sgd rates(settings const& s) {
    return {.lr = s.lr, .weight_decay = s.weight_decay};
  }
  [[maybe_unused]] static auto of(tensor const& t, std::size_t first, std::size_t n,
                                  std::string_view name) {
    return lowp::sgd_tensor{storage::of(t, first, n), std::span(t.g + first, n), name};
  }
};
using optimizer = LOWP_TORCH_OPTIMIZER;

#ifdef __CUDACC__

/// Takes a step of all tensors on the stream, by one kernel for many. It counts reports in
/// `s.scratch` if asked, and then waits; else it waits for nothing. There is at least one tensor.
void step_all(std::span<tensor> tensors, settings const& s) {
  static_assert(!has_extra, "fingerprints need memory of the processor");
  // The place in the list keys the random bits. Between numbers stand tensors without elements.
  std::uint32_t const first = tensors.front().number;
  using listed = decltype(optimizer::of(tensor(), 0, 0, ""));
  std::vector<listed> list(tensors.back().number - first + 1, listed{});
  for (tensor const& t : tensors) list[t.number - first] = optimizer::of(t, 0, t.n, t.name);
  rounding const random = rounding_of(s, tensors.front(), 0);
  auto const stream = static_cast<cudaStream_t>(s.stream);
  if (s.reports == 0) return lowp::cuda::update(stream, list, optimizer::rates(s), s.step, random);

  std::vector<lowp::update_report> reports(list.size());
  std::span const theirs(static_cast<lowp::update_report*>(s.scratch), list.size());
  auto const check = [](cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
  };
  check(cudaMemcpyAsync(theirs.data(), reports.data(), theirs.size_bytes(), cudaMemcpyHostToDevice,
                        stream));
  lowp::cuda::update(stream, list, optimizer::rates(s), s.step, random, theirs);
  check(cudaMemcpyAsync(reports.data(), theirs.data(), theirs.size_bytes(), cudaMemcpyDeviceToHost,
                        stream));
  check(cudaStreamSynchronize(stream));
  for (tensor& t : tensors) t.outcome = outcome_of(reports[t.number - first]);
}

#else

/// Elements that a thread takes at once.
constexpr std::size_t shard = 64 * block;

constexpr auto keys = [] {
  std::array<std::array<std::int16_t, block>, 2> all{};
  std::uint64_t random = 1;
  for (auto& each : all)
    for (std::int16_t& key : each) {
      random = random * 6364136223846793005 + 1442695040888963407;
      key = static_cast<std::int16_t>(random >> 48 | 1);
    }
  return all;
}();

/// Returns two sums of products of codes and odd keys, modulo 2^32. They differ if one code does;
/// other changes are missed once in 2^32. A compiler makes it a dot product of packs.
template <class T>
std::uint64_t fingerprint_of(T const* p, std::size_t n) {
  T rest[block] = {};
  if (n < block) p = std::copy_n(p, n, rest) - n;
  std::uint32_t low = 0, high = 0;
  if constexpr (has_extra)
    for (std::size_t i = 0; i < block; ++i) {
      auto const bits = static_cast<std::int16_t>(p[i].bits());
      low += static_cast<std::uint32_t>(bits * keys[0][i]);
      high += static_cast<std::uint32_t>(bits * keys[1][i]);
    }
  return std::uint64_t{high} << 32 | low;
}

/// Records the fingerprints of a shard's blocks. If `checks`, a block with another fingerprint than
/// the last step's was written from outside, and its storage starts anew.
template <class Storage = storage>
void sync_shard(tensor& t, std::size_t first, std::size_t n, bool checks) {
  std::uint64_t restarted = 0;
  for (std::size_t i = first; i < first + n; i += block) {
    std::size_t const size = std::min(block, first + n - i);
    std::uint64_t const now = fingerprint_of(t.p + i, size);
    std::uint64_t& written = t.written[i / block];
    if (checks && written != now) {
      if constexpr (has_extra) lowp::resync(Storage::of(t, i, size));
      ++restarted;
    }
    written = now;
  }
  if (restarted != 0) {
#pragma omp atomic
    t.restarted += restarted;
  }
}

void take_step(tensor const& t, std::size_t first, std::size_t n, settings const& s,
               auto&... outcome) {
  auto const rates = optimizer::rates(s);
  auto const random = rounding_of(s, t, first);
  std::apply(lowp::update,
             optimizer::of(t, first, n, "").arguments(rates, s.step, random, outcome...));
}

/// Refuses what a step would refuse, and memory that two tensors share.
void check_call(std::span<tensor const> tensors, settings const& s) {
  take_step(tensor(), 0, 0, s);
  if (s.checked != 0) return;
  struct range {
    std::uintptr_t begin, end;
    bool is_written;
    char const* name;
  };
  std::vector<range> ranges;
  for (tensor const& t : tensors) {
    auto const add = [&]<class T>(T* data, bool is_written, std::size_t n) {
      auto const begin = reinterpret_cast<std::uintptr_t>(data);
      if (begin % alignof(T) != 0)
        throw std::invalid_argument(std::string(t.name) + ": its elements are not aligned");
      if (begin != 0 && n != 0)
        ranges.push_back({begin, begin + n * sizeof(T), is_written, t.name});
    };
    auto const add_moment = [&](auto const& moment) {
      std::apply([&](auto... array) { (add(array.data(), true, array.size()), ...); },
                 arrays_of(moment));
    };
    add(t.p, true, t.n);
    add(t.g, false, t.n);
    add_moment(moment_of<first_moment>(t.m, t.m_scales, 0, t.m != nullptr ? t.n : 0));
    add_moment(moment_of<second_moment>(t.v, t.v_scales, 0, t.v != nullptr ? t.n : 0));
    if constexpr (has_extra) add(static_cast<extra*>(t.extra), true, t.n);
  }
  std::sort(ranges.begin(), ranges.end(),
            [](range const& a, range const& b) { return a.begin < b.begin; });
  range any{}, written{};  // those that end last
  for (range const& each : ranges) {
    range const& before = each.is_written ? any : written;
    if (each.begin < before.end)
      throw std::invalid_argument(std::string(before.name) + " and " + each.name +
                                  ": their tensors or states share memory");
    if (each.end > any.end) any = each;
    if (each.is_written && each.end > written.end) written = each;
  }
}

/// Calls function(tensor, first element, elements) for all shards, on all threads.
void for_each_shard(std::span<tensor> tensors, auto const& function) {
  std::vector<std::pair<tensor*, std::size_t>> shards;
  for (tensor& t : tensors)
    for (std::size_t first = 0; first < t.n; first += shard) shards.emplace_back(&t, first);
#pragma omp parallel for schedule(static) if (shards.size() > 1)
  for (std::size_t i = 0; i < shards.size(); ++i) {
    auto const [t, first] = shards[i];
    function(*t, first, std::min<std::size_t>(shard, t->n - first));
  }
}

void step_all(std::span<tensor> tensors, settings& s) {
  check_call(tensors, s);
  for (tensor& t : tensors) t.restarted = 0;
  std::vector<lowp::update_report> reports(s.reports != 0 ? tensors.size() : 0);
  for_each_shard(tensors, [&](tensor& t, std::size_t first, std::size_t n) {
    if constexpr (has_extra) sync_shard(t, first, n, true);
    if (s.reports == 0) {
      take_step(t, first, n, s);
    } else {
      lowp::update_report mine;
      take_step(t, first, n, s, mine);
#pragma omp critical
      reports[static_cast<std::size_t>(&t - tensors.data())] += mine;  // exact in any order
    }
    if constexpr (has_extra) sync_shard(t, first, n, false);
  });
  for (std::size_t i = 0; i < reports.size(); ++i) tensors[i].outcome = outcome_of(reports[i]);
  s.restarted = 0;
  for (tensor const& t : tensors) s.restarted += t.restarted;
}

#endif

}  // namespace

/// Takes a step of `count` tensors. Returns false and an error text if it refuses the call; then it
/// writes nothing.
extern "C" bool lowp_torch_step(void* tensors, std::size_t count, void* s) {
  auto& with = *static_cast<settings*>(s);
  try {
    step_all(std::span(static_cast<tensor*>(tensors), count), with);
    return true;
  } catch (std::exception const& error) {
    std::strncpy(with.error, error.what(), sizeof(with.error) - 1);
    return false;
  }
}
#ifndef __CUDACC__
/// Makes states agree with parameters that were written from outside.
extern "C" void lowp_torch_resync([[maybe_unused]] void* tensors,
                                  [[maybe_unused]] std::size_t count) {
  if constexpr (has_extra)
    for_each_shard(std::span(static_cast<tensor*>(tensors), count),
                   [](tensor& t, std::size_t first, std::size_t n) {
                     sync_shard(t, first, n, t.checks != 0);
                   });
}
#else
/// Returns the bytes of a report.
extern "C" std::size_t lowp_torch_report_size() { return sizeof(lowp::update_report); }
#endif
