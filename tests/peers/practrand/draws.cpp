// SPDX-License-Identifier: Apache-2.0
// Writes the draws of stochastic_fast without end, for PractRand's RNG_test: see README.md.
#include <lowp/format/random.hpp>
#include <lowp/simd/executors.hpp>
#include <lowp/simd/random.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

using draws = std::vector<std::uint16_t>;

struct fill_kernel {
  lowp::random_source source;
  std::uint64_t index;
  draws& out;

  template <class Isa>
  LOWP_HOST_FN void body() const {
    using registers = typename Isa::registers;
    lowp::simd::random_batches<registers, lowp::stochastic_fast> batches;
    batches.start(source, index);
    constexpr std::size_t step = lowp::simd::batch<registers>;
    for (std::size_t i = 0; i < out.size(); i += step)
      __builtin_memcpy(out.data() + i, batches.next(), 2 * step);
  }
};

void fill(draws& out, std::uint64_t seed, std::uint64_t stream, std::uint32_t draw,
          std::uint64_t index) {
  lowp::simd::this_thread{}(fill_kernel{{seed, stream, draw, true}, index, out});
}

constexpr std::size_t few = 1024, many = 1 << 16;
constexpr std::uint32_t tensor = 5;

// Successive elements of one tensor in one step.
void by_element(draws& out, std::uint64_t seed, std::uint64_t turn) {
  out.resize(many);
  fill(out, seed, lowp::stream_of(tensor, 1), 0, turn * many);
}
// For 1024 elements, each in successive steps: one element after the other.
void transpose(draws& out, std::vector<draws> const& rows) {
  out.clear();
  for (std::size_t i = 0; i < few; ++i)
    for (draws const& row : rows) out.push_back(row[i]);
}
void by_step(draws& out, std::uint64_t seed, std::uint64_t turn) {
  std::vector<draws> rows(64, draws(few));
  for (std::uint64_t i = 0; i < rows.size(); ++i)
    fill(rows[i], seed, lowp::stream_of(tensor, turn * rows.size() + i), 0, 0);
  transpose(out, rows);
}
// The same for successive tensors in one step.
void by_tensor(draws& out, std::uint64_t seed, std::uint64_t turn) {
  std::vector<draws> rows(64, draws(few));
  for (std::uint64_t i = 0; i < rows.size(); ++i)
    fill(rows[i], seed, lowp::stream_of(static_cast<std::uint32_t>(turn * rows.size() + i), 1), 0,
         0);
  transpose(out, rows);
}
// The three draws of an element, followed by those of the next one.
void by_draw(draws& out, std::uint64_t seed, std::uint64_t turn) {
  std::vector<draws> rows(3, draws(few));
  for (std::uint32_t draw = 0; draw < 3; ++draw)
    fill(rows[draw], seed, lowp::stream_of(tensor, 1), draw, turn * few);
  transpose(out, rows);
}

struct order {
  std::string_view name;
  void (*make)(draws&, std::uint64_t, std::uint64_t);
};
constexpr std::array<order, 4> orders{
    {{"element", by_element}, {"step", by_step}, {"tensor", by_tensor}, {"draw", by_draw}}};

}  // namespace

int main(int count, char** arguments) {
  auto const* const chosen =
      count != 3 ? orders.end() : std::ranges::find(orders, arguments[1], &order::name);
  if (chosen == orders.end()) {
    std::fputs("draws element|step|tensor|draw SEED\n", stderr);
    return 2;
  }
  std::uint64_t const seed = std::strtoull(arguments[2], nullptr, 0);
  draws out;
  for (std::uint64_t turn = 0;; ++turn) {
    chosen->make(out, seed, turn);
    if (std::fwrite(out.data(), sizeof(out[0]), out.size(), stdout) != out.size()) return 0;
  }
}
