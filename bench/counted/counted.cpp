// SPDX-License-Identifier: Apache-2.0
// Prints the instructions that operations execute for 16 elements: for each case its name, then the
// address of each instruction and how often it ran. counted.py reads that. An argument names one
// case; "names" prints the names alone.
//
// A child runs a case on n elements, then on twice as many. Its parent steps it, instruction by
// instruction. The difference is what n elements take: calls, dispatch and ends cancel. Under qemu,
// which has no such parent, the program only runs the case, and counted.py reads qemu's log.
#include <lowp/lowp.hpp>

#if defined(__x86_64__)
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#endif
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace {

constexpr std::size_t n = 2048;

// The child calls it before, between and after.
extern "C" [[gnu::noinline]] void counted_mark() { asm volatile(""); }

#if defined(__x86_64__)

[[noreturn]] void die(char const* what) {
  std::perror(what);
  std::exit(1);
}

using addresses = std::map<std::uint64_t, std::int64_t>;

/// Steps the child from mark to mark. Adds what it executes, first with a minus.
addresses steps_of(pid_t child) {
  addresses counts;
  auto const mark = reinterpret_cast<std::uint64_t>(&counted_mark);
  int status = 0;
  if (waitpid(child, &status, 0) < 0) die("waitpid");
  for (int marks = 0; marks < 3;) {
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) die("ptrace");
    if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status)) die("the child ended");
    user_regs_struct registers{};
    if (ptrace(PTRACE_GETREGS, child, nullptr, &registers) != 0) die("ptrace");
    marks += registers.rip == mark;
    if (marks != 0) counts[registers.rip] += marks == 1 ? -1 : 1;
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return counts;
}

#endif

void run_between_marks(std::function<void(std::size_t)> const& run) {
  counted_mark();
  run(n);
  counted_mark();
  run(2 * n);
  counted_mark();
}

std::string only;

/// Returns false if no case is asked whose name has this part. Its data would take qemu a minute.
bool is_asked(std::string const& part) {
  return only.empty() || only == "names" || only.find(part) != std::string::npos;
}

void count(char const* name, std::function<void(std::size_t)> const& run) {
  if (only == "names") std::puts(name);
  if (!only.empty() && only != name) return;
  run(n);  // finds the backend
  std::printf("%s\n", name);
#if defined(__x86_64__)
  std::fflush(stdout);
  pid_t const child = fork();
  if (child < 0) die("fork");
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) die("ptrace");
    raise(SIGSTOP);
    run_between_marks(run);
    _exit(0);
  }
  for (auto const& [address, times] : steps_of(child))
    if (times != 0)
      std::printf("%llx %.9g\n", static_cast<unsigned long long>(address),
                  static_cast<double>(times) * 16 / n);
#else
  run_between_marks(run);
#endif
}

template <class T>
std::vector<T> normal(float deviation = 1) {
  std::mt19937 bits(20110516);
  std::normal_distribution<float> distribution(0, deviation);
  std::vector<T> all(2 * n);
  for (T& x : all) x = static_cast<T>(distribution(bits));
  return all;
}

template <class From, class To, class Rounding = lowp::nearest_even>
void count_cast(char const* name, Rounding rounding = {}) {
  if (!is_asked(name)) return;
  std::vector<From> const in = normal<From>();
  std::vector<To> out(in.size());
  count(name, [&](std::size_t size) {
    lowp::cast(std::span(in).first(size), std::span(out).first(size), rounding);
  });
}

template <class Rounding>
void count_fused_add(char const* name, Rounding rounding) {
  if (!is_asked(name)) return;
  auto p = normal<lowp::bfloat16>();
  std::vector<float> const u = normal<float>();
  count(name, [&](std::size_t size) {
    lowp::fused_add(std::span(p).first(size), 0.01f, std::span(u).first(size), rounding);
  });
}

template <class T, class Rounding, class... Report>
void count_adamw(char const* name, Rounding rounding, Report... report) {
  if (!is_asked(name)) return;
  auto p = normal<T>();
  std::vector<T> const g = normal<T>();
  auto m = normal<float>(), v = normal<float>();
  for (float& x : v) x *= x;
  count(name, [&](std::size_t size) {
    lowp::update(std::span(p).first(size), std::span(g).first(size), std::span(m).first(size),
                 std::span(v).first(size), lowp::adamw{}, 10, rounding, report...);
  });
}

template <class T>
void count_rows(std::string const& type) {
  if (!is_asked("/" + type)) return;
  constexpr std::size_t columns = 1024;
  std::vector<T> const in = normal<T>(3);
  std::vector<T> const weight(columns, T(1.0f)), bias(columns, T(0.5f));
  std::vector<T> out(in.size());
  count(("softmax/" + type + "/1024").c_str(), [&](std::size_t size) {
    lowp::softmax(std::span(in).first(size), std::span(out).first(size), columns);
  });
  std::vector<std::uint8_t> mask(columns);
  for (std::size_t i = 0; i < columns; ++i) mask[i] = i % 4 == 0;
  count(("softmax/scale_mask/" + type + "/1024").c_str(), [&](std::size_t size) {
    lowp::scale_mask_softmax(std::span(in).first(size), mask, std::span(out).first(size), columns,
                             0.5f);
  });
  auto const count_map = [&](char const* name, auto const& map) {
    count((name + type).c_str(),
          [&](std::size_t size) { map(std::span(in).first(size), std::span(out).first(size)); });
  };
  count_map("pieces/gelu_tanh/", lowp::gelu_tanh);
  count_map("pieces/gelu/", lowp::gelu);
  count_map("pieces/silu/", lowp::silu);
  count_map("pieces/gated_silu/", [](auto x, auto y) { lowp::gated_silu(x, x, y); });
  count_map("backward/gelu/", [](auto x, auto y) { lowp::gelu_backward(x, x, y); });
  count_map("backward/silu/", [](auto x, auto y) { lowp::silu_backward(x, x, y); });
  std::vector<T> stream = normal<T>();
  count_map("pieces/add_rms_norm/", [&](auto u, auto y) {
    lowp::add_rms_norm(std::span(stream).first(u.size()), u, weight, y, columns, 1e-6f);
  });
  count(("pieces/layer_norm/" + type).c_str(), [&](std::size_t size) {
    lowp::layer_norm(std::span(in).first(size), weight, bias, std::span(out).first(size), columns,
                     1e-6f);
  });
  count(("pieces/sum/" + type).c_str(),
        [&](std::size_t size) { out[0] = T(float(lowp::sum(std::span(in).first(size)))); });
}

template <class From, class To>
void count_census(char const* name) {
  if (!is_asked(name)) return;
  std::vector<From> const in = normal<From>(0.02f);
  std::size_t total = 0;
  count(name,
        [&](std::size_t size) { total += lowp::census<To>(std::span(in).first(size)).overflow; });
}

// Loops as a program has them that does without the library: bfloat16 to nearest by integers, to
// zero if NaN; float16 by the compiler's own type; AdamW in float.
#if defined(__clang__)
#define LOOP [[gnu::noinline]] void
#elif defined(__x86_64__)
#define LOOP [[gnu::noinline, gnu::optimize("O3"), gnu::target("avx2,fma,f16c")]] void
#else
#define LOOP [[gnu::noinline, gnu::optimize("O3")]] void
#endif

LOOP loop_to_bfloat16(std::uint32_t const* __restrict in, std::uint16_t* __restrict out,
                      std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    std::uint32_t const x = in[i];
    bool const is_nan = (x & 0x7fffffff) > 0x7f800000;
    out[i] = is_nan ? 0 : static_cast<std::uint16_t>((x + 0x7fff + (x >> 16 & 1)) >> 16);
  }
}
LOOP loop_from_bfloat16(std::uint16_t const* __restrict in, std::uint32_t* __restrict out,
                        std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) out[i] = std::uint32_t{in[i]} << 16;
}
#if defined(__aarch64__) || defined(__clang__)
using half = __fp16;
#else
using half = _Float16;
#endif
LOOP loop_to_float16(float const* __restrict in, half* __restrict out, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<half>(in[i]);
}
LOOP loop_adamw(float* __restrict p, float const* __restrict g, float* __restrict m,
                float* __restrict v, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    m[i] = 0.9f * m[i] + 0.1f * g[i];
    v[i] = 0.999f * v[i] + 0.001f * g[i] * g[i];
    p[i] = p[i] * (1 - 1e-5f) - 1e-3f * m[i] / (__builtin_sqrtf(v[i]) + 1e-8f);
  }
}
#undef LOOP

void count_loops() {
  if (!is_asked("loop/")) return;
  auto p = normal<float>(), g = normal<float>(), m = normal<float>(), v = normal<float>();
  for (float& x : v) x *= x;
  std::vector<std::uint32_t> bits(2 * n, 0x3f812345);
  std::vector<std::uint16_t> codes(2 * n);
  count("loop/float->bfloat16/nearest_even",
        [&](std::size_t size) { loop_to_bfloat16(bits.data(), codes.data(), size); });
  count("loop/bfloat16->float/exact",
        [&](std::size_t size) { loop_from_bfloat16(codes.data(), bits.data(), size); });
  std::vector<half> halves(2 * n);
  count("loop/float->float16/nearest_even",
        [&](std::size_t size) { loop_to_float16(p.data(), halves.data(), size); });
  count("loop/adamw/float,float,float,float",
        [&](std::size_t size) { loop_adamw(p.data(), g.data(), m.data(), v.data(), size); });
}

template <class From>
void count_range(char const* name) {
  if (!is_asked(name)) return;
  std::vector<From> const in = normal<From>(0.02f);
  std::uint32_t all = 0;
  count(name, [&](std::size_t size) {
    all |= lowp::abs_range_of<lowp::float16>(std::span(in).first(size)).max_abs.bits;
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) only = argv[1];
  using lowp::bfloat16, lowp::float16, lowp::float8_e4m3fn, lowp::float8_e5m2;
  lowp::nearest_even const nearest;
  lowp::stochastic const stochastic{.seed = 1};
  count_cast<float, bfloat16>("cast/float->bfloat16/nearest_even");
  count_cast<bfloat16, float>("cast/bfloat16->float/exact");
  count_cast<float, float16>("cast/float->float16/nearest_even");
  count_cast<float16, float>("cast/float16->float/exact");
  count_cast<double, bfloat16>("cast/double->bfloat16/nearest_even");
  count_cast<double, float16>("cast/double->float16/nearest_even");
  count_cast<float, float8_e4m3fn>("cast/float->float8_e4m3fn/nearest_even");
  count_cast<float8_e4m3fn, float>("cast/float8_e4m3fn->float/exact");
  count_cast<float, float8_e5m2>("cast/float->float8_e5m2/nearest_even");
  count_cast<float8_e5m2, float>("cast/float8_e5m2->float/exact");
  count_cast<float, bfloat16>("cast/float->bfloat16/stochastic", stochastic);
  lowp::stochastic_fast const fast{.seed = 1};
  count_cast<float, bfloat16>("cast/float->bfloat16/stochastic_fast", fast);
  count_cast<float, float16>("cast/float->float16/stochastic_fast", fast);
  count_cast<float, float8_e4m3fn>("cast/float->float8_e4m3fn/stochastic_fast", fast);
  count_cast<float, float8_e5m2>("cast/float->float8_e5m2/stochastic_fast", fast);
  count_cast<float, float16>("cast/float->float16/stochastic", stochastic);
  count_cast<float, float8_e4m3fn>("cast/float->float8_e4m3fn/stochastic", stochastic);
  count_cast<float, float8_e5m2>("cast/float->float8_e5m2/stochastic", stochastic);
  count_fused_add("fused_add/bfloat16,float/nearest_even", nearest);
  count_fused_add("fused_add/bfloat16,float/stochastic", stochastic);
  count_fused_add("fused_add/bfloat16,float/stochastic_fast", fast);
  std::string const mixed = "update/adamw/bfloat16,bfloat16,float,float/stochastic";
  count_adamw<float>("update/adamw/float,float,float,float/nearest_even", nearest);
  count_adamw<bfloat16>(mixed.c_str(), stochastic);
  count_adamw<bfloat16>((mixed + ",report").c_str(), stochastic, lowp::update_report{});
  count_adamw<bfloat16>((mixed + "_fast").c_str(), fast);
  count_adamw<bfloat16>((mixed + "_fast,report").c_str(), fast, lowp::update_report{});
  count_rows<float>("float");
  count_rows<bfloat16>("bfloat16");
  count_rows<float16>("float16");
  count_census<float, bfloat16>("census/float->bfloat16");
  count_census<float, float16>("census/float->float16");
  count_census<float, float8_e4m3fn>("census/float->float8_e4m3fn");
  count_census<bfloat16, float16>("census/bfloat16->float16");
  count_census<bfloat16, float8_e4m3fn>("census/bfloat16->float8_e4m3fn");
  count_census<float16, float8_e4m3fn>("census/float16->float8_e4m3fn");
  count_range<float>("census/abs_range/float->float16");
  count_range<bfloat16>("census/abs_range/bfloat16->float16");
  count_loops();
}
