// SPDX-License-Identifier: Apache-2.0
// Spans of any place and size: a call is refused before anything is written, or writes its output
// and nothing else.
#include <lowp/lowp.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

namespace {

void require(bool holds) {
  if (!holds) __builtin_trap();
}

struct choices {
  std::uint8_t const* data;
  std::size_t size;

  std::size_t next(std::size_t below) {
    if (size == 0) return 0;
    --size;
    return *data++ % below;
  }
};

constexpr std::size_t most = 300;

template <class T>
std::span<T> piece(std::vector<float>& memory, choices& from) {
  std::size_t const bytes = memory.size() * sizeof(float);
  std::size_t const first = from.next(256) * sizeof(T),
                    count = from.next(most) + from.next(2) * 200;
  auto* const begin = reinterpret_cast<std::byte*>(memory.data()) + first;
  return {reinterpret_cast<T*>(begin), std::min(count, (bytes - first) / sizeof(T))};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  choices from{data, size};
  std::vector<float> memory(600);
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = std::bit_cast<float>(static_cast<std::uint32_t>(i * 0x9e3779b9U + size));
  std::vector<float> const before = memory;
  auto const floats = piece<float>(memory, from), more = piece<float>(memory, from);
  auto const halves = piece<lowp::bfloat16>(memory, from);
  auto const bytes = piece<lowp::float8_e4m3fn>(memory, from);
  std::size_t const columns = from.next(40);
  std::span<std::byte const> written;
  try {
    switch (from.next(6)) {
      case 0:
        written = std::as_bytes(halves);
        lowp::cast(floats, halves, lowp::stochastic{.seed = size});
        break;
      case 1:
        written = std::as_bytes(bytes);
        lowp::cast(halves, bytes);
        break;
      case 2:
        written = std::as_bytes(floats);
        lowp::cast(bytes, floats);
        break;
      case 3:
        written = std::as_bytes(more);
        lowp::softmax(floats, more, columns);
        break;
      case 4:
        written = std::as_bytes(halves);
        lowp::fused_add(halves, 0.5f, floats);
        break;
      default:
        written = std::as_bytes(floats);
        lowp::update(floats, halves, lowp::sgd{.lr = 0.1}, columns);
    }
  } catch (std::invalid_argument const&) {
    written = {};
  }
  auto const now = std::as_bytes(std::span(memory)), then = std::as_bytes(std::span(before));
  auto const* const end = written.data() + written.size();
  for (std::size_t i = 0; i < now.size(); ++i)
    require(now[i] == then[i] || (&now[i] >= written.data() && &now[i] < end));
  return 0;
}
