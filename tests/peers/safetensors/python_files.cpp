// SPDX-License-Identifier: Apache-2.0
// For python_test.py:
//
//     write PATH      a file of known tensors
//     read PATH       a line a tensor: name, dtype, shape, bytes in hexadecimal; then metadata
//     accept PATH...  a line for each: 1 if it can be opened, else 0
#include <lowp/safetensors.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace st = lowp::safetensors;

namespace {

template <lowp::safetensors::stored T>
std::vector<T> all_codes() {
  std::vector<T> codes(std::size_t{1} << (8 * sizeof(T)));
  for (std::size_t i = 0; i < codes.size(); ++i)
    codes[i] = T::from_bits(static_cast<typename T::storage>(i));
  return codes;
}

template <class... T>
void write(std::string const& path) {
  std::vector<st::tensor> tensors{{"w", st::dtype::f32, {2, 3}}, {"step", st::dtype::u64, {}}};
  (tensors.push_back({std::string(name_of(st::dtype_of<T>)),
                      st::dtype_of<T>,
                      {2, (std::uint64_t{1} << (8 * sizeof(T))) / 2}}),
   ...);
  st::writer out(path, tensors, {{"format", "np"}, {"text", "\"\\\n\xc3\xa4"}});
  std::vector<float> const w{0.0f, 1.5f, -2.25f, 0x1p-149f, 0x1.fffffep127f, -0.0f};
  std::uint64_t const step = 0xfedcba9876543210;
  out.append("w", std::span(w));
  out.append("step", std::span(&step, 1));
  (out.append(name_of(st::dtype_of<T>), std::span<T const>(all_codes<T>())), ...);
  out.finish();
}

void read(std::string const& path) {
  st::file const file(path);
  for (st::tensor const& t : file.tensors()) {
    std::printf("%s %s ", t.name.c_str(), std::string(name_of(t.type)).c_str());
    for (std::uint64_t const extent : t.shape) std::printf("%llu,", 0ULL + extent);
    std::printf(" ");
    // In pieces that do not divide it.
    std::vector<std::byte> piece;
    for (std::uint64_t at = 0; at < t.end - t.begin; at += piece.size()) {
      piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(1001, t.end - t.begin - at)));
      file.read_bytes(t, at, piece);
      for (std::byte const byte : piece) std::printf("%02x", static_cast<unsigned>(byte));
    }
    std::printf("\n");
  }
  for (auto const& [key, value] : file.metadata())
    std::printf("__metadata__ %s=%s\n", key.c_str(), value.c_str());
}

bool accept(std::string const& path) try {
  st::file const file(path);
  return true;
} catch (std::runtime_error const&) {
  return false;
}

}  // namespace

int main(int count, char** arguments) try {
  std::string_view const what = count > 2 ? arguments[1] : "";
  if (what == "write")
    write<lowp::float16, lowp::bfloat16, lowp::float8_e5m2, lowp::float8_e4m3fn,
          lowp::float8_e8m0fnu, lowp::float8_e4m3fnuz, lowp::float8_e5m2fnuz>(arguments[2]);
  else if (what == "read")
    read(arguments[2]);
  else if (what == "accept")
    for (int i = 2; i < count; ++i) std::printf("%d\n", accept(arguments[i]) ? 1 : 0);
  else
    return 2;
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
