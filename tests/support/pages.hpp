// SPDX-License-Identifier: Apache-2.0
// Pages between pages that no one may touch: reading or writing past an end is a crash.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <new>

namespace lowp_test {

class separate_pages {
 public:
  explicit separate_pages(std::size_t count) : count_(count) {
    void* const all = mmap(nullptr, bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<unsigned char*>(all);
    for (std::size_t i = 0; i < count; ++i)
      if (mprotect(page(i), size, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  }
  separate_pages(separate_pages const&) = delete;
  separate_pages& operator=(separate_pages const&) = delete;
  ~separate_pages() { munmap(begin_, bytes()); }

  [[nodiscard]] unsigned char* page(std::size_t i) const { return begin_ + (2 * i + 1) * size; }

  static inline auto const size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

 private:
  [[nodiscard]] std::size_t bytes() const { return (2 * count_ + 1) * size; }

  std::size_t count_;
  unsigned char* begin_ = nullptr;
};

}  // namespace lowp_test
