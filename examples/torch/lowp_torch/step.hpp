// SPDX-License-Identifier: Apache-2.0
// A step of many tensors, over the memory of PyTorch's. It needs no header of PyTorch. A kind of
// parameters is a class: step.cpp has fused kernels of one kind, engine.cpp composes any.
//
//     layout                            the widths of its arrays
//     remembers()                       true if its storage keeps more than p shows
//     check(settings)                   throws what a step would throw
//     take(tensor, first, n, settings, report)    steps elements; `report` may be null
//     resync(tensor, first, n)          makes the storage stand for p
#pragma once

#include <lowp/update.hpp>

#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

/// Elements that share a fingerprint. Codes that share a scale lie in one block.
constexpr std::size_t block = 256;

// These structs stand in optimizer.py too.
struct report {
  std::uint64_t count, stalled, overflowed, nonfinite;
  double applied, requested;
};
struct tensor {
  void* p;
  void const* g;
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
  // The places of p's elements in the whole tensor. Run i of `run` elements begins at firsts[i], or
  // without these at first + i * stride. Blocks of codes begin anew with each run.
  std::uint64_t first, run, stride;
  std::uint64_t const* firsts;

  /// Returns whether the elements are one run, as a `run` of 0 says too.
  bool is_run() const { return run == 0 || run >= n; }
};
/// Holds what changes from one replay of a CUDA graph to the next, as lowp::cuda::step_state does.
/// A step of 0 is skipped.
struct stored {
  double lr;
  std::uint64_t step, stream;
};
struct settings {
  double lr, beta1, beta2, eps, weight_decay;
  std::uint64_t seed, step;
  void *stream, *scratch;  ///< of a GPU; `scratch` has room for a report of each tensor's number
  struct stored const* stored;  ///< or null: it replaces lr and step, and lies where the tensors do
  std::int32_t reports;
  std::int32_t checked;     ///< true if no tensor shares memory, and all are aligned
  std::uint64_t restarted;  ///< out: the sum of those of all tensors
  char error[1000];         ///< out
};

/// Takes a part of a step that was checked as a whole. A type of this unit keeps its kernels local.
struct unchecked : lowp::detail::checked<lowp::simd::this_thread> {};

inline report outcome_of(lowp::update_report const& r) {
  return {r.count, r.stalled, r.overflowed, r.nonfinite, r.applied.value(), r.requested.value()};
}

/// Returns the rounding of a step, from element `first` of a tensor that is one run.
template <class R>
R rounding_of([[maybe_unused]] settings const& s, [[maybe_unused]] tensor const& t,
              [[maybe_unused]] std::size_t first) {
  if constexpr (R::is_stochastic)
    return {s.seed, lowp::stream_of(t.number, s.step), t.first + first};
  else
    return {};
}

// Storages of elements first to first + n of an array, and of what lies beside it.
template <class T>
std::span<T> part(void* data, std::size_t first, std::size_t n) {
  return {static_cast<T*>(data) + first, n};
}
template <class T>
struct plain {
  using element = T;
  using beside = void;
  static auto of(void* data, void*, std::size_t first, std::size_t n) {
    return part<T>(data, first, n);
  }
};
template <class T>
struct kahan {
  using element = T;
  using beside = lowp::bfloat16;
  static auto of(void* data, void* extra, std::size_t first, std::size_t n) {
    return lowp::kahan{part<T>(data, first, n), part<beside>(extra, first, n)};
  }
};
template <class T>
struct master {
  using element = T;
  using beside = float;
  static auto of(void* data, void* extra, std::size_t first, std::size_t n) {
    return lowp::master{part<beside>(extra, first, n), part<T>(data, first, n)};
  }
};
template <class T, class E>
struct corrected {
  using element = T;
  using beside = E;
  static auto of(void* data, void* extra, std::size_t first, std::size_t n) {
    return lowp::corrected_master{part<T>(data, first, n), part<E>(extra, first, n)};
  }
};
template <class T>
using corrected8 = corrected<T, std::int8_t>;
template <class T>
using corrected16 = corrected<T, std::int16_t>;

/// Blocks of codes; `first` is a multiple of the block.
template <class M>
struct in_blocks {
  static constexpr std::size_t shared = M::elements_per_scale;
  static_assert(block % shared == 0);
  using element = std::remove_reference_t<decltype(*M().codes.data())>;
  using beside = std::remove_reference_t<decltype(*std::get<1>(M().parts()).data())>;
  static M of(void* data, void* scales, std::size_t first, std::size_t n) {
    return {part<element>(data, first, n), part<beside>(scales, first / shared, M::blocks(n))};
  }
};

// Moments, signed or not: numbers, or codes that share scales.
namespace moments {
template <bool>
using none = plain<float>;  // not there
template <bool>
using float32 = plain<float>;
template <bool>
using bfloat16 = plain<lowp::bfloat16>;
template <bool IsSigned>
using uint8 = in_blocks<lowp::dynamic_blocks<IsSigned>>;
template <bool IsSigned>
using companded = in_blocks<lowp::companded_blocks<IsSigned>>;
}  // namespace moments

/// The bytes of an array's elements, and of what lies beside `shared` of them.
struct widths {
  std::size_t element = 0, beside = 0, shared = 1;
};
template <class Storage>
constexpr widths widths_of() {
  if constexpr (std::is_void_v<typename Storage::beside>)
    return {sizeof(typename Storage::element)};
  else if constexpr (requires { Storage::shared; })
    return {sizeof(typename Storage::element), sizeof(typename Storage::beside), Storage::shared};
  else
    return {sizeof(typename Storage::element), sizeof(typename Storage::beside)};
}
struct layout {
  widths p, g, m, v;
};

/// Returns the elements from `first` to the end of their run, or to `end`, as a tensor of its own.
inline tensor rest_of_run(layout const& widths, tensor const& t, std::size_t first,
                          std::size_t end) {
  tensor rest = t;
  std::size_t const run = first / t.run, in_run = first % t.run;
  auto const move = [](void*& data, std::size_t bytes) {
    if (data != nullptr) data = static_cast<char*>(data) + bytes;
  };
  auto const move_both = [&](void*& data, void*& beside, auto const& each) {
    move(data, first * each.element);
    move(beside,
         (run * ((t.run + each.shared - 1) / each.shared) + in_run / each.shared) * each.beside);
  };
  move_both(rest.p, rest.extra, widths.p);
  if (rest.g != nullptr) rest.g = static_cast<char const*>(rest.g) + first * widths.g.element;
  move_both(rest.m, rest.m_scales, widths.m);
  move_both(rest.v, rest.v_scales, widths.v);
  rest.first = (t.firsts != nullptr ? t.firsts[run] : t.first + run * t.stride) + in_run;
  rest.n = rest.run = std::min<std::size_t>(t.run - in_run, end - first);
  return rest;
}

/// Calls function(tensor, first, n) for elements of a tensor, by runs.
void for_each_run(layout const& widths, tensor const& t, std::size_t first, std::size_t n,
                  auto const& function) {
  if (t.is_run()) return function(t, first, n);
  for (std::size_t i = first; i < first + n;) {
    tensor const rest = rest_of_run(widths, t, i, first + n);
    function(rest, 0, rest.n);
    i += rest.n;
  }
}

struct key_table {
  std::int16_t of[2][block];
};
constexpr auto keys = [] {
  key_table all{};
  std::uint64_t random = 1;
  for (auto& each : all.of)
    for (std::int16_t& key : each) {
      random = random * 6364136223846793005 + 1442695040888963407;
      key = static_cast<std::int16_t>(random >> 48 | 1);
    }
  return all;
}();

#ifndef __CUDACC__

/// Elements that a thread takes at once.
constexpr std::size_t shard = 64 * block;
/// Elements that are compared, stepped and recorded while they lie in the first cache: whole groups
/// of a report's sums.
constexpr std::size_t piece = 1024;
static_assert(shard % piece == 0 && piece % block == 0);

/// Returns two sums of products of codes of 16 bits and odd keys, modulo 2^32. They differ if one
/// code does; other changes are missed once in 2^32. A compiler makes it a dot product of packs.
[[gnu::always_inline]] inline std::uint64_t fingerprint_of(lowp::bfloat16 const* p) {
  std::uint32_t low = 0, high = 0;
  for (std::size_t i = 0; i < block; ++i) {
    auto const bits = static_cast<std::int16_t>(p[i].bits());
    low += static_cast<std::uint32_t>(bits * keys.of[0][i]);
    high += static_cast<std::uint32_t>(bits * keys.of[1][i]);
  }
  return std::uint64_t{high} << 32 | low;
}
[[gnu::always_inline]] inline void write_fingerprints(std::uint64_t* to, lowp::bfloat16 const* p,
                                                      std::size_t blocks) {
  for (std::size_t i = 0; i < blocks; ++i) to[i] = fingerprint_of(p + i * block);
}

// The same for processors of wider packs.
using write_fingerprints_type = void(std::uint64_t*, lowp::bfloat16 const*, std::size_t);
inline void write_portable(std::uint64_t* to, lowp::bfloat16 const* p, std::size_t blocks) {
  write_fingerprints(to, p, blocks);
}
#if defined(__x86_64__)
[[gnu::target("avx2")]] inline void write_avx2(std::uint64_t* to, lowp::bfloat16 const* p,
                                               std::size_t blocks) {
  write_fingerprints(to, p, blocks);
}
[[gnu::target("avx512bw,avx512vl,avx512vnni")]] inline void write_avx512(std::uint64_t* to,
                                                                         lowp::bfloat16 const* p,
                                                                         std::size_t blocks) {
  write_fingerprints(to, p, blocks);
}
inline write_fingerprints_type* const write_chosen =
    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
            __builtin_cpu_supports("avx512vnni")
        ? write_avx512
    : __builtin_cpu_supports("avx2") ? write_avx2
                                     : write_portable;
#else
inline write_fingerprints_type* const write_chosen = write_portable;
#endif

/// Records the fingerprints of blocks. If `checks`, a block with another fingerprint than the last
/// step's was written from outside, and its storage starts anew.
void sync_part(auto const& kind, tensor& t, std::size_t first, std::size_t n, bool checks) {
  std::uint64_t restarted = 0;
  for (std::size_t i = first; i < first + n; i += piece) {
    std::size_t const size = std::min(piece, first + n - i), whole = size / block;
    auto const* const p = static_cast<lowp::bfloat16 const*>(t.p) + i;
    std::uint64_t now[piece / block];
    write_chosen(now, p, whole);
    if (size % block != 0) {
      lowp::bfloat16 rest[block] = {};
      std::copy(p + whole * block, p + size, rest);
      write_chosen(now + whole, rest, 1);
    }
    for (std::size_t j = 0; j * block < size; ++j) {
      std::uint64_t& written = t.written[i / block + j];
      if (checks && written != now[j]) {
        kind.resync(t, i + j * block, std::min(block, size - j * block));
        ++restarted;
      }
      written = now[j];
    }
  }
  if (restarted != 0) {
#pragma omp atomic
    t.restarted += restarted;
  }
}

/// Refuses memory that two tensors share, or that is not aligned.
inline void check_memory(layout const& widths, std::span<tensor const> tensors) {
  struct range {
    std::uintptr_t begin, end;
    bool is_written;
    char const* name;
  };
  std::vector<range> ranges;
  for (tensor const& t : tensors) {
    auto const add = [&](void const* data, bool is_written, std::size_t count, std::size_t width) {
      auto const begin = reinterpret_cast<std::uintptr_t>(data);
      if (width != 0 && begin % width != 0)
        throw std::invalid_argument(std::string(t.name) + ": its elements are not aligned");
      if (begin != 0 && count * width != 0)
        ranges.push_back({begin, begin + count * width, is_written, t.name});
    };
    auto const add_both = [&](void const* data, void const* beside, auto const& each) {
      add(data, true, t.n, each.element);
      std::size_t const run = t.is_run() ? t.n : t.run;
      std::size_t const blocks = (run + each.shared - 1) / each.shared;
      add(beside, true, run == 0 ? 0 : t.n / run * blocks, each.beside);
    };
    add_both(t.p, t.extra, widths.p);
    add(t.g, false, t.n, widths.g.element);
    add_both(t.m, t.m_scales, widths.m);
    add_both(t.v, t.v_scales, widths.v);
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

/// Calls function(tensor, first element, elements) for all shards, on all threads. With `by_runs`,
/// none cuts a block of a run.
void for_each_shard(std::span<tensor> tensors, bool by_runs, auto const& function) {
#ifdef _OPENMP
  bool const is_alone = omp_get_max_threads() == 1;
#else
  bool const is_alone = true;
#endif
  std::vector<std::tuple<tensor*, std::size_t, std::size_t>> shards;
  for (tensor& t : tensors) {
    std::size_t const run = t.is_run() || !by_runs ? t.n : t.run;
    std::size_t const most = is_alone && t.is_run() ? t.n : shard;
    std::size_t const size = run < most && run != 0 ? most / run * run : most;
    for (std::size_t first = 0; first < t.n;) {
      std::size_t const end = run < most ? t.n : (first / run + 1) * run;
      shards.emplace_back(&t, first, std::min(size, end - first));
      first += std::get<2>(shards.back());
    }
  }
#pragma omp parallel for schedule(static) if (shards.size() > 1)
  for (std::size_t i = 0; i < shards.size(); ++i) {
    auto const [t, first, n] = shards[i];
    function(*t, first, n);
  }
}

/// Records the fingerprints of tensors for which checks(tensor) says if they are compared before.
void sync_all(auto const& kind, std::span<tensor> tensors, auto const& checks) {
  if (kind.remembers())
    for_each_shard(tensors, false, [&](tensor& t, std::size_t first, std::size_t n) {
      sync_part(kind, t, first, n, checks(t));
    });
}

void step_all(auto const& kind, std::span<tensor> tensors, settings& s) {
  if (s.stored != nullptr) s.lr = s.stored->lr, s.step = s.stored->step;
  for (tensor& t : tensors) t.restarted = 0, t.outcome = {};
  s.restarted = 0;
  if (s.stored != nullptr && s.step == 0) return;
  kind.check(s);
  if (s.checked == 0) check_memory(kind.layout, tensors);
  std::vector<lowp::update_report> reports(s.reports != 0 ? tensors.size() : 0);
  // Runs that are no whole blocks share fingerprints: these have passes of their own.
  bool const is_apart = std::ranges::any_of(
      tensors, [](tensor const& t) { return !t.is_run() && t.run % block != 0; });
  bool const syncs = kind.remembers() && !is_apart;
  if (is_apart) sync_all(kind, tensors, [](auto&) { return true; });
  for_each_shard(tensors, true, [&](tensor& t, std::size_t first, std::size_t n) {
    lowp::update_report mine;
    std::size_t const size = syncs && t.is_run() ? piece : n;
    for (std::size_t i = first, rest = n; rest != 0; i += size, rest -= std::min(size, rest)) {
      std::size_t const count = std::min(size, rest);
      if (syncs) sync_part(kind, t, i, count, true);
      for_each_run(kind.layout, t, i, count, [&](tensor const& run, std::size_t at, std::size_t m) {
        kind.take(run, at, m, s, s.reports != 0 ? &mine : nullptr);
      });
      if (syncs) sync_part(kind, t, i, count, false);
    }
    if (s.reports != 0) {
#pragma omp critical
      reports[static_cast<std::size_t>(&t - tensors.data())] += mine;  // exact in any order
    }
  });
  if (is_apart) sync_all(kind, tensors, [](auto&) { return false; });
  for (std::size_t i = 0; i < reports.size(); ++i) tensors[i].outcome = outcome_of(reports[i]);
  for (tensor const& t : tensors) s.restarted += t.restarted;
}

void resync_all(auto const& kind, std::span<tensor> tensors) {
  sync_all(kind, tensors, [](tensor const& t) { return t.checks != 0; });
}

#endif

/// Returns false and an error text if `step` refuses the call.
bool is_done(settings& s, auto const& step) {
  try {
    step();
    return true;
  } catch (std::exception const& error) {
    std::strncpy(s.error, error.what(), sizeof(s.error) - 1);
    return false;
  }
}

}  // namespace
