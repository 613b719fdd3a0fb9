// SPDX-License-Identifier: Apache-2.0
// Casts every float to bfloat16 and to float16, on the best backend of the machine. The machine may
// have no files, no environment and no test framework, and is slow. So the check looks at each code
// once. Two arguments name a share: `sweep 1 4` is the second of four.
#include <lowp/cast.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

namespace {

constexpr std::uint32_t size = 65536;  // the floats that share their upper half
alignas(64) float floats[size];

#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "default")))
#endif
void next_upper_half() {
  for (float& x : floats) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    bits += 0x10000;
    std::memcpy(&x, &bits, sizeof bits);
  }
}

// The largest magnitude of a float that rounds to a code or to the tie above it, as bits. An even
// code has the tie. `dropped` bits of a NaN's payload are lost; the quiet bit is set.
struct to_bfloat16 {
  using format = lowp::bfloat16;
  static constexpr char name[] = "bfloat16";
  static constexpr std::uint32_t infinity = 0x7f80, quiet = 0x40, dropped = 16;
  static std::uint32_t tie_above(std::uint32_t code) { return code << 16 | 0x8000; }
};
struct to_float16 {
  using format = lowp::float16;
  static constexpr char name[] = "float16";
  static constexpr std::uint32_t infinity = 0x7c00, quiet = 0x200, dropped = 13;
  static std::uint32_t tie_above(std::uint32_t code) {
    if (code >= 0x400) return (code << 13) + (112u << 23) + 0x1000;
    float const tie = static_cast<float>(2 * code + 1) * 0x1p-25f;  // a subnormal's unit is 2^-24
    std::uint32_t bits;
    std::memcpy(&bits, &tie, sizeof bits);
    return bits;
  }
};

/// Floats of one sign that have the same code: up to the magnitude `last`.
struct run {
  std::uint32_t last, code;
};

template <class Format>
run run_of_code(std::uint32_t code) {
  return {Format::tie_above(code) - (code & 1), code};
}

/// Returns the run of the magnitude x, which follows another run or is a NaN's.
template <class Format>
run next_run(run before, std::uint32_t x) {
  constexpr std::uint32_t infinity = 0x7f800000;
  if (x > infinity)
    return {x | ((std::uint32_t{1} << Format::dropped) - 1),
            Format::infinity | Format::quiet | (x & 0x7fffff) >> Format::dropped};
  if (before.code + 1 == Format::infinity) return {infinity, Format::infinity};
  return run_of_code<Format>(before.code + 1);
}

/// Returns the run of the magnitude x, or that of infinity for a NaN's.
template <class Format>
run run_at(std::uint32_t x) {
  std::uint32_t least = 0, most = Format::infinity;
  while (least < most) {
    std::uint32_t const middle = (least + most) / 2;
    if (run_of_code<Format>(middle).last < x)
      least = middle + 1;
    else
      most = middle;
  }
  return least == Format::infinity ? run{0x7f800000, least} : run_of_code<Format>(least);
}

/// Tells if all codes from `begin` to `end` are `expected`: the first one is, and each is the next.
template <class T>
bool are(T const* begin, T const* end, std::uint32_t expected) {
  return begin->bits() == expected &&
         std::memcmp(begin, begin + 1, static_cast<std::size_t>(end - begin - 1) * sizeof *begin) ==
             0;
}

/// Casts the floats, and checks the codes.
template <class Format>
class checker {
 public:
  explicit checker(std::uint32_t first) : now_(run_at<Format>(first)) {}

  void operator()(std::uint32_t upper) {
    lowp::cast(std::span<float const>(floats), std::span(codes_));
    std::uint32_t const sign = upper & 0x8000, first = upper << 16 & 0x7fffffff;
    if (first == 0) now_ = run_at<Format>(0);
    bool right = true;
    for (std::uint32_t at = 0; at < size;) {
      if (now_.last < first + at) now_ = next_run<Format>(now_, first + at);
      std::uint32_t const stop = now_.last - first < size ? now_.last - first + 1 : size;
      right = right && are(codes_ + at, codes_ + stop, now_.code | sign);
      at = stop;
    }
    ++count_;
    if (!right && wrong_++ < 10) std::printf("wrong to %s: 0x%04x....\n", Format::name, upper);
  }
  bool report() const {
    std::printf("%s: upper halves %u wrong %u\n", Format::name, count_, wrong_);
    return wrong_ == 0;
  }

 private:
  alignas(64) inline static typename Format::format codes_[size];
  run now_;
  unsigned count_ = 0, wrong_ = 0;
};

}  // namespace

int main(int arguments, char** argument) {
  auto const isa = lowp::isa();
  std::printf("isa %.*s\n", static_cast<int>(isa.size()), isa.data());
  std::uint32_t share = 0, shares = 1;
  if (arguments == 3) {
    share = static_cast<std::uint32_t>(std::atoi(argument[1]));
    shares = static_cast<std::uint32_t>(std::atoi(argument[2]));
  }
  std::uint32_t const begin = size * share / shares, end = size * (share + 1) / shares;
  for (std::uint32_t i = 0; i < size; ++i) {
    std::uint32_t const bits = begin << 16 | i;
    std::memcpy(&floats[i], &bits, sizeof bits);
  }
  checker<to_bfloat16> bfloat16(begin << 16 & 0x7fffffff);
  checker<to_float16> float16(begin << 16 & 0x7fffffff);
  for (std::uint32_t upper = begin; upper < end; ++upper) {
    bfloat16(upper);
    float16(upper);
    next_upper_half();
  }
  bool const first = bfloat16.report(), second = float16.report();
  return first && second ? 0 : 1;
}
