// SPDX-License-Identifier: Apache-2.0
// Places of a row's elements in shared memory. Each element has one place. No two threads that a
// GPU serves together use the same of its 32 banks of four bytes. These are eight threads for
// accesses of 16 bytes, and 32 for 4 bytes (CUDA C++ Programming Guide, "Shared Memory").
#include <gtest/gtest.h>
#include <lowp/cuda/rows/row_team.hpp>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

namespace {

struct numbered_thread {
  unsigned number;
  [[nodiscard]] unsigned thread() const { return number; }
  template <class T>
  T* register_address(T* shared) const {
    return shared;
  }
};

constexpr unsigned rounds = 2, chunk = lowp::cuda::chunk_size;
constexpr unsigned banks = 32;

template <unsigned Threads>
class places {
  using team = lowp::cuda::row_team<Threads, numbered_thread>;

 public:
  static constexpr unsigned room = rounds * team::stride;
  static constexpr unsigned step = team::step;

  // Every word holds its place.
  places() : words_(room) { std::iota(words_.begin(), words_.end(), 0.0f); }

  // In the order of elements: those of a group, or those that a thread adds to its sums.
  std::vector<unsigned> of_chunks() {
    return collect(
        [](team const& t) { return t.first_of_chunk(); }, 1,
        [](auto const& memory, unsigned offset, auto& x) { memory.load_chunk(offset, x); });
  }
  std::vector<unsigned> of_sums() {
    return collect([](team const& t) { return t.first_of_sums(); }, step,
                   [](auto const& memory, unsigned offset, auto& x) {
                     memory.load_own(offset, static_cast<int>(room), x);
                   });
  }
  // Every element is stored as its number, by groups or by threads' own; what is then in the words.
  template <bool ByGroups>
  std::vector<float> after_stores() {
    for_each([](auto const& memory, team const& t, unsigned offset) {
      float x[chunk];
      unsigned const first = offset + (ByGroups ? t.first_of_chunk() : t.first_of_sums());
      for (unsigned k = 0; k < chunk; ++k)
        x[k] = static_cast<float>(first + k * (ByGroups ? 1 : step));
      if constexpr (ByGroups)
        memory.store_chunk(offset, x);
      else
        memory.store_own(offset, x);
    });
    return words_;
  }

 private:
  // body(memory, team, offset) for all that every thread has.
  template <class Body>
  void for_each(Body const& body) {
    for (unsigned n = 0; n < Threads; ++n) {
      numbered_thread const thread{n};
      team const t(thread);
      lowp::cuda::row_memory<team> const memory(thread, words_.data(), t);
      for (unsigned offset = 0; offset < room; offset += team::stride) body(memory, t, offset);
    }
  }
  template <class First, class Load>
  std::vector<unsigned> collect(First const& first, unsigned distance, Load const& load) {
    std::vector<unsigned> found(room, ~0U);
    for_each([&](auto const& memory, team const& t, unsigned offset) {
      float x[chunk];
      load(memory, offset, x);
      for (unsigned k = 0; k < chunk; ++k)
        found[first(t) + offset + k * distance] = static_cast<unsigned>(x[k]);
    });
    return found;
  }
  std::vector<float> words_;
};

template <unsigned Threads>
void check() {
  auto const of_chunks = places<Threads>().of_chunks();
  EXPECT_EQ(of_chunks, places<Threads>().of_sums());
  EXPECT_EQ(std::set<unsigned>(of_chunks.begin(), of_chunks.end()).size(), places<Threads>::room);
  EXPECT_EQ(*std::max_element(of_chunks.begin(), of_chunks.end()), places<Threads>::room - 1);
  auto const stored = places<Threads>().template after_stores<true>();
  EXPECT_EQ(stored, places<Threads>().template after_stores<false>());
  for (unsigned e = 0; e < places<Threads>::room; ++e)
    ASSERT_EQ(stored[of_chunks[e]], static_cast<float>(e));

  // Halves of groups: four words at a place that 16 divides, of eight threads with groups in a row.
  for (unsigned first = 0; first < places<Threads>::room; first += 8 * chunk)
    for (unsigned half = 0; half < chunk; half += 4) {
      std::set<unsigned> used;
      for (unsigned thread = 0; thread < 8; ++thread) {
        unsigned const e = first + thread * chunk + half;
        EXPECT_EQ(of_chunks[e] % 4, 0U);
        for (unsigned k = 0; k < 4; ++k) {
          EXPECT_EQ(of_chunks[e + k], of_chunks[e] + k);
          used.insert((of_chunks[e] + k) % banks);
        }
      }
      ASSERT_EQ(used.size(), banks) << first;
    }
  // A block's threads have successive elements.
  if (places<Threads>::step != 1)
    for (unsigned first = 0; first < places<Threads>::room; first += 32) {
      std::set<unsigned> used;
      for (unsigned e = first; e < first + 32; ++e) used.insert(of_chunks[e] % banks);
      ASSERT_EQ(used.size(), banks) << first;
    }
}

TEST(row_memory, of_a_warp) { check<32>(); }
TEST(row_memory, of_a_block) { check<256>(); }

}  // namespace
