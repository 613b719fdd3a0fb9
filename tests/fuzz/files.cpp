// SPDX-License-Identifier: Apache-2.0
// Files of any bytes: a file is refused by an exception, or all its tensors can be read. A
// checkpoint is loaded whole, or refused and nothing is written.
#include <sys/mman.h>
#include <unistd.h>
#include <lowp/checkpoint.hpp>
#include <lowp/safetensors.hpp>
#include <lowp/update.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

void require(bool holds) {
  if (!holds) __builtin_trap();
}

// The file lies in memory. Even bytes of input choose a length that is right for the rest.
std::string path_of(std::uint8_t const* data, std::size_t size) {
  static int const descriptor = ::memfd_create("fuzz", 0);
  std::vector<std::uint8_t> bytes(data, data + size);
  if (size > 9 && data[0] % 2 == 0) {
    std::size_t end = size;  // the header ends after the last }
    while (end > 8 && bytes[end - 1] != '}') --end;
    std::uint64_t const length = end - 8;
    std::memcpy(bytes.data(), &length, sizeof(length));
  }
  require(::ftruncate(descriptor, 0) == 0);
  require(::pwrite(descriptor, bytes.data(), bytes.size(), 0) ==
          static_cast<ssize_t>(bytes.size()));
  return "/proc/self/fd/" + std::to_string(descriptor);
}

void read(std::string const& path) {
  lowp::safetensors::file const file(path);
  std::uint64_t bytes = 0;
  for (auto const& t : file.tensors()) {
    require(file.at(t.name).end == t.end && t.end >= t.begin);
    std::vector<std::byte> all(static_cast<std::size_t>(t.end - t.begin));
    file.read_bytes(t, 0, all);
    bytes += all.size();
    if (t.type == lowp::safetensors::dtype::bf16) static_cast<void>(file.read<lowp::bfloat16>(t));
  }
  require(bytes <= (std::uint64_t{1} << 32));
}

void load(std::string const& path) {
  std::vector<lowp::bfloat16> p(2);
  std::vector<lowp::float4_e2m1fn> small(2);
  std::vector<float> m(2);
  lowp::loss_scaler scaler;
  auto const empty = std::pair(m, scaler.scale);
  lowp::checkpoint state;
  state.parameter("p", {2}, p, m).tensor("s", small).scaler("scaler", scaler);
  try {
    state.load(path);
  } catch (std::runtime_error const&) {
    require(std::pair(m, scaler.scale) == empty && p[0].bits() == 0 && small[1].bits() == 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const path = path_of(data, size);
  try {
    read(path);
  } catch (std::runtime_error const&) {
  }
  load(path);
  return 0;
}
