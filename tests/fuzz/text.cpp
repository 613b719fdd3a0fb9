// SPDX-License-Identifier: Apache-2.0
// Numbers from any bytes: a text that is read is that of one value, which prints and reads back.
#include <lowp/checkpoint.hpp>
#include <lowp/lowp.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

void require(bool holds) {
  if (!holds) __builtin_trap();
}

template <class T>
void read(std::string_view text) {
  T x{};
  auto const [end, error] = from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc()) {
    require(end == text.data() && x.bits() == T{}.bits());
    return;
  }
  require(end > text.data() && end <= text.data() + text.size());
  std::array<char, 64> buffer{};
  auto const written = to_chars(buffer.data(), buffer.data() + buffer.size(), x);
  require(written.ec == std::errc());
  T again{};
  from_chars(buffer.data(), written.ptr, again);
  require(again.bits() == x.bits() || isnan(x));
  // Any room that is too small is left alone beyond its end.
  std::size_t const room = text.size() % 8;
  auto const cut = to_chars(buffer.data(), buffer.data() + room, x);
  require(cut.ptr <= buffer.data() + room);
}

template <class T>
void read_scalar(std::string_view text) {
  T x{};
  if (!lowp::detail::parse_scalar(text, &x)) return;
  T again{};
  require(lowp::detail::parse_scalar(lowp::detail::scalar_text(x), &again));
  require(__builtin_memcmp(&x, &again, sizeof(T)) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  read<lowp::bfloat16>(text);
  read<lowp::float16>(text);
  read<lowp::float8_e4m3fn>(text);
  read<lowp::float8_e8m0fnu>(text);
  read_scalar<double>(text);
  read_scalar<float>(text);
  read_scalar<std::int64_t>(text);
  read_scalar<bool>(text);
  return 0;
}
