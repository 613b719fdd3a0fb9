// SPDX-License-Identifier: Apache-2.0
// Offsets and sizes that a process of 32 bits cannot have. They are refused, or exact; never cut to
// their low bits.
#include <unistd.h>
#include <lowp/checkpoint.hpp>
#include <lowp/io.hpp>
#include <lowp/safetensors.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>

namespace {

constexpr std::uint64_t beyond = std::uint64_t{1} << 32;

bool writes_far_or_not_at_all(std::string const& path) {
  std::byte const near{1}, far{2};
  try {
    lowp::atomic_file file(path);
    file.write_at(0, {&near, 1});
    file.write_at(beyond, {&far, 1});
    file.commit();
  } catch (std::system_error const& refused) {
    return sizeof(off_t) == 4 && refused.code() == std::errc::file_too_large;
  }
  return sizeof(off_t) == 8 && std::filesystem::file_size(path) == beyond + 1;
}

bool reads_all_or_nothing(std::string const& path) {
  if (sizeof(off_t) == 4) return true;  // opens no such file
  std::string header = R"({"w":{"dtype":"U8","shape":[4294967300],"data_offsets":[0,4294967300]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::uint64_t const length = header.size();
  {
    lowp::atomic_file file(path);
    file.write_at(0, std::as_bytes(std::span(&length, 1)));
    file.write_at(8, std::as_bytes(std::span(header)));
    file.commit();
  }
  std::filesystem::resize_file(path, 8 + length + beyond + 4);
  lowp::safetensors::file const file(path);
  try {
    return file.read<std::uint8_t>(file.at("w")).size() == beyond + 4;
  } catch (std::exception const& refused) {
    return std::string(refused.what()).find("too many for the memory") != std::string::npos;
  }
}

bool names_the_count(std::byte first) {
  lowp::detail::checkpoint_state state;
  try {
    std::uint64_t const one = 1;
    state.add("w",
              lowp::detail::saved_tensor{
                  {&one, 1}, lowp::safetensors::dtype::u8, "", {&first, std::size_t{1} << 29}});
  } catch (std::exception const& refused) {
    return std::string(refused.what()).find("has 536870912 elements") != std::string::npos;
  }
  return false;
}

}  // namespace

int main(int, char** arguments) {
  std::string const path = arguments[1];
  bool const writes = writes_far_or_not_at_all(path), reads = reads_all_or_nothing(path),
             counts = names_the_count(std::byte{});
  std::remove(path.c_str());
  std::printf("writes %d, reads %d, counts %d\n", writes, reads, counts);
  return writes && reads && counts ? 0 : 1;
}
