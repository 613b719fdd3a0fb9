// SPDX-License-Identifier: Apache-2.0
// AdamW for lowp_torch.py, over the memory of PyTorch's tensors. It needs no header of PyTorch. A
// library serves one kind of parameters; lowp_torch_build.py has the command:
//
//     LOWP_TORCH_ELEMENT   float, bfloat16 or float16
//     LOWP_TORCH_STORAGE   plain, kahan or master
//     LOWP_TORCH_MOMENT    float or bfloat16
//     LOWP_TORCH_ROUNDING  nearest_even, stochastic or stochastic_fast
#include <lowp/storage.hpp>
#include <lowp/update.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using lowp::bfloat16, lowp::float16;
using element = LOWP_TORCH_ELEMENT;
using moment = LOWP_TORCH_MOMENT;
using rounding = lowp::LOWP_TORCH_ROUNDING;

/// Elements that share a fingerprint, and elements that a thread takes at once.
constexpr std::size_t block = 256, shard = 64 * block;

// These structs stand in lowp_torch.py too.
struct report {
  std::uint64_t count, stalled, overflowed, nonfinite;
  double applied, requested;
};
struct tensor {
  element* p;
  element const* g;
  moment *m, *v;
  void* extra;             ///< compensation or master weights
  std::uint64_t* written;  ///< a fingerprint for each block of p after the last step
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
  std::int32_t reports;
  char error[1000];  ///< out
};

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
using storage = LOWP_TORCH_STORAGE<element>;
using extra = storage::extra;
constexpr bool has_extra = !std::is_same_v<storage, plain<element>>;

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
      auto const code = static_cast<std::int16_t>(p[i].bits());
      low += static_cast<std::uint32_t>(code * keys[0][i]);
      high += static_cast<std::uint32_t>(code * keys[1][i]);
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
  lowp::update(storage::of(t, first, n), std::span(t.g + first, n), std::span(t.m + first, n),
               std::span(t.v + first, n),
               lowp::adamw{s.lr, s.beta1, s.beta2, s.eps, s.weight_decay}, s.step,
               rounding_of(s, t, first), outcome...);
}

/// Refuses what a step would refuse, and memory that two tensors share.
void check_call(std::span<tensor const> tensors, settings const& s) {
  take_step(tensor(), 0, 0, s);
  struct range {
    std::uintptr_t begin, end;
    bool is_written;
    char const* name;
  };
  std::vector<range> ranges;
  for (tensor const& t : tensors) {
    auto const add = [&]<class T>(T* data, bool is_written) {
      auto const begin = reinterpret_cast<std::uintptr_t>(data);
      if (begin % alignof(T) != 0)
        throw std::invalid_argument(std::string(t.name) + ": its elements are not aligned");
      if (t.n != 0) ranges.push_back({begin, begin + t.n * sizeof(T), is_written, t.name});
    };
    add(t.p, true);
    add(t.g, false);
    add(t.m, true);
    add(t.v, true);
    if constexpr (has_extra) add(static_cast<extra*>(t.extra), true);
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

void step_all(std::span<tensor> tensors, settings const& s) {
  check_call(tensors, s);
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
  for (std::size_t i = 0; i < reports.size(); ++i) {
    lowp::update_report const& r = reports[i];
    tensors[i].outcome = {r.count,     r.stalled,         r.overflowed,
                          r.nonfinite, r.applied.value(), r.requested.value()};
  }
}

}  // namespace

/// Takes a step. Returns false and an error text if it refuses the call; nothing is written then.
extern "C" bool lowp_torch_step(tensor* tensors, std::size_t count, settings* s) {
  try {
    step_all(std::span(tensors, count), *s);
    return true;
  } catch (std::exception const& error) {
    std::strncpy(s->error, error.what(), sizeof(s->error) - 1);
    return false;
  }
}
/// Makes states agree with parameters that were written from outside.
extern "C" void lowp_torch_resync([[maybe_unused]] tensor* tensors,
                                  [[maybe_unused]] std::size_t count) {
  if constexpr (has_extra)
    for_each_shard(std::span(tensors, count), [](tensor& t, std::size_t first, std::size_t n) {
      sync_shard(t, first, n, t.checks != 0);
    });
}
