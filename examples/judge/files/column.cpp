// SPDX-License-Identifier: Apache-2.0
#include "files/column.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <lowp/io/atomic_file.hpp>
#include <lowp/io/safetensors/file.hpp>

#include "model/files/problem.hpp"

namespace judge {

namespace {

[[noreturn]] void refuse(std::string const& path, std::string const& why) {
  throw problem("'" + path + "': " + why);
}

/// Copies elements of a width to the type's own width, and refuses what is no code.
column narrowed(std::string const& path, std::shared_ptr<mapped const> file,
                std::span<std::byte const> bytes, unsigned width, bool is_signed,
                number_type const& due) {
  if (width == due.bytes() && due.bits() == 8 * width)
    return column(path, std::move(file), bytes, width);
  column const from(path, std::move(file), bytes, width);
  std::vector<std::byte> codes;
  for (std::uint64_t i = 0; i < from.size(); ++i) {
    std::uint64_t const code = from[i];
    if (code > due.code_mask())
      refuse(path,
             "element " + std::to_string(i) + " is " +
                 (is_signed && code >> (8 * width - 1) != 0 ? "negative" : std::to_string(code)) +
                 ", and a code of " + std::string(due.name) + " is at most " +
                 std::to_string(due.code_mask()));
    for (unsigned k = 0; k < due.bytes(); ++k)
      codes.push_back(static_cast<std::byte>(code >> (8 * k)));
  }
  return {path, std::move(codes), due.bytes()};
}

column from_npy(std::string const& path, std::shared_ptr<mapped const> file,
                number_type const& due) {
  npy const a = read_npy_header(path, file->bytes());
  bool const is_float = due.name == "float64" || due.name == "float32" || due.name == "float16";
  bool const is_integer = a.kind == 'u' || a.kind == 'i';
  if (is_integer ? a.bytes < due.bytes()
                 : a.bytes != due.bytes() || (a.kind == 'f' && !is_float && a.bytes != 1))
    refuse(path, "its elements are '" + a.descr + "'; " + std::string(due.name) +
                     " is due: " + std::to_string(due.bytes()) + " bytes each" +
                     (a.bytes == due.bytes()
                          ? ", as x.view(numpy.uint" + std::to_string(8 * due.bytes()) + ")"
                          : ""));
  auto const data = file->bytes().subspan(a.offset);
  return narrowed(path, std::move(file), data, a.bytes, a.kind == 'i', due);
}

column from_safetensors(std::string const& path, std::string const& name, number_type const& due) {
  namespace st = lowp::safetensors;
  st::file const file(path);
  if (name.empty() && file.tensors().size() != 1)
    refuse(path, "it has " + std::to_string(file.tensors().size()) +
                     " tensors; name one after a colon, as in " + path + ":NAME");
  st::tensor const& t = name.empty() ? file.tensors()[0] : file.at(name);
  std::string const dtype(st::name_of(t.type));
  bool const is_integer = dtype.size() > 1 && (dtype[0] == 'U' || dtype[0] == 'I') &&
                          st::bits_of(t.type) == 8 * due.bytes();
  constexpr std::pair<std::string_view, std::string_view> names[]{
      {"F32", "float32"},
      {"F64", "float64"},
      {"F16", "float16"},
      {"BF16", "bfloat16"},
      {"F8_E4M3", "float8_e4m3fn"},
      {"F8_E5M2", "float8_e5m2"},
      {"F8_E8M0", "float8_e8m0fnu"},
      {"F8_E4M3FNUZ", "float8_e4m3fnuz"},
      {"F8_E5M2FNUZ", "float8_e5m2fnuz"},
      {"F6_E2M3", "float6_e2m3fn"},
      {"F6_E3M2", "float6_e3m2fn"},
      {"F4", "float4_e2m1fn"}};
  unsigned const bits = st::bits_of(t.type);
  bool is_due = is_integer || (due.name == "uint8" && bits <= 8);
  for (auto const& [theirs, ours] : names) is_due = is_due || (dtype == theirs && due.name == ours);
  if (!is_due) refuse(path, "its tensor is " + dtype + "; " + std::string(due.name) + " is due");
  std::vector<std::byte> bytes(static_cast<std::size_t>(t.end - t.begin));
  file.read_bytes(t, 0, bytes);
  if (bits % 8 == 0) return narrowed(path, nullptr, bytes, bits / 8, false, due).owned();
  std::vector<std::byte> codes(bytes.size() * 8 / bits);  // packed, the lowest bits first
  for (std::size_t i = 0; i < codes.size(); ++i) {
    unsigned word = 0;
    for (std::size_t k = 0; k < 2 && i * bits / 8 + k < bytes.size(); ++k)
      word |= static_cast<unsigned>(bytes[i * bits / 8 + k]) << (8 * k);
    codes[i] = static_cast<std::byte>(word >> (i * bits % 8) & ((1u << bits) - 1));
  }
  return {path, std::move(codes), 1};
}

}  // namespace

mapped::mapped(std::string const& path) {
  int const file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat facts{};
  if (file < 0 || ::fstat(file, &facts) != 0) {
    std::string const why = std::strerror(errno);
    if (file >= 0) ::close(file);
    refuse(path, "cannot read it: " + why);
  }
  if (!S_ISREG(facts.st_mode)) {
    ::close(file);
    refuse(path, "it is no regular file");
  }
  size_ = static_cast<std::size_t>(facts.st_size);
  void* const at = size_ == 0 ? nullptr : ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (at == MAP_FAILED) refuse(path, std::string("cannot read it: ") + std::strerror(errno));
  data_ = static_cast<std::byte const*>(at);
}
mapped::~mapped() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

column column::owned() && {
  if (own_.empty()) own_.assign(bytes_.begin(), bytes_.end());
  bytes_ = own_;
  file_ = nullptr;
  return std::move(*this);
}

column read_numbers(std::string const& path, number_type const& due) {
  constexpr std::string_view tensors = ".safetensors";
  if (std::size_t const at = path.find(".safetensors:"); at != path.npos)
    return from_safetensors(path.substr(0, at + tensors.size()),
                            path.substr(at + tensors.size() + 1), due);
  if (path.ends_with(tensors)) return from_safetensors(path, "", due);
  auto file = std::make_shared<mapped const>(path);
  if (path.ends_with(".npy")) return from_npy(path, std::move(file), due);
  for (std::string_view const text : {".hex", ".mem", ".txt"})
    if (path.ends_with(text)) {
      std::span<std::byte const> const bytes = file->bytes();
      return {path,
              read_hex(path, {reinterpret_cast<char const*>(bytes.data()), bytes.size()}, due),
              due.bytes()};
    }
  if (file->bytes().size() % due.bytes() != 0)
    refuse(path, "it has " + std::to_string(file->bytes().size()) + " bytes, no whole number of " +
                     std::string(due.name) + "s of " + std::to_string(due.bytes()) + " bytes");
  auto const bytes = file->bytes();
  return narrowed(path, std::move(file), bytes, due.bytes(), false, due);
}

void write_numbers(std::string const& path, number_type const& type, std::uint64_t count,
                   std::function<std::uint64_t(std::uint64_t)> const& code) {
  bool const is_hex = path.ends_with(".hex");
  std::string pending = is_hex || path.ends_with(".bin") ? "" : npy_header(type, count);
  lowp::atomic_file file(path);
  std::uint64_t at = 0;
  auto const flush = [&] {
    file.write_at(at, std::as_bytes(std::span(pending)));
    at += pending.size();
    pending.clear();
  };
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t const word = code(i);
    if (is_hex) {
      char text[20];
      int const size =
          std::snprintf(text, sizeof text, "%0*llx\n", static_cast<int>(type.bits() + 3) / 4,
                        static_cast<unsigned long long>(word));
      pending.append(text, static_cast<std::size_t>(size));
    } else {
      for (unsigned k = 0; k < type.bytes(); ++k)
        pending += static_cast<char>(word >> (8 * k) & 0xff);
    }
    if (pending.size() >= std::size_t{1} << 20) flush();
  }
  flush();
  file.commit();
}

void write_text(std::string const& path, std::string const& text) {
  lowp::atomic_file file(path);
  file.write_at(0, std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace judge
