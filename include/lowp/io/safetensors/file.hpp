// SPDX-License-Identifier: Apache-2.0
// Reads a safetensors file, a piece at a time.
#pragma once

#include <lowp/io/safetensors/json.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace lowp::safetensors::inline LOWP_UNIT {

/// An open file whose header agrees with its size. Each tensor has the bytes that its type and
/// shape need, and shares them with no other. Together they are all the data. Data are read on
/// request. Several threads may read one object at once.
/// @throws std::runtime_error  from every function; it names the path, tensor and values seen
class file {
 public:
  explicit file(std::string path) : path_(std::move(path)), at_(path_.c_str()) {
    if (at_.number < 0) refuse(std::string("cannot open it: ") + std::strerror(errno));
    read_header();
  }

  [[nodiscard]] std::string const& path() const { return path_; }
  /// Returns the tensors in the order of their data.
  [[nodiscard]] std::vector<tensor> const& tensors() const { return header_.tensors; }
  [[nodiscard]] std::map<std::string, std::string> const& metadata() const {
    return header_.metadata;
  }

  /// Returns null if no tensor has that name.
  [[nodiscard]] tensor const* find(std::string_view name) const {
    auto const found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }
  [[nodiscard]] tensor const& at(std::string_view name) const {
    tensor const* const found = find(name);
    if (found == nullptr) refuse("tensor " + detail::shown(name) + " is not there");
    return *found;
  }

  /// Reads out[i] = element first + i of t, which is one of tensors().
  template <stored T>
  void read(tensor const& t, std::uint64_t first, std::span<T> out) const {
    if (t.type != dtype_of<T>)
      refuse("tensor " + detail::shown(t.name) + " is " + std::string(name_of(t.type)) +
             ", read as " + std::string(name_of(dtype_of<T>)));
    require_piece(t, first, out.size(), element_count(t), "elements");
    read_at(t, first * sizeof(T), std::as_writable_bytes(out));
  }
  template <stored T>
  [[nodiscard]] std::vector<T> read(tensor const& t) const {
    std::vector<T> all;
    if (element_count(t) > all.max_size())
      refuse("tensor " + detail::shown(t.name) + " has " + std::to_string(element_count(t)) +
             " elements, too many for the memory of this process");
    all.resize(static_cast<std::size_t>(element_count(t)));
    read(t, 0, std::span<T>(all));
    return all;
  }
  /// Reads bytes of a tensor of any type, starting at its byte `first`.
  void read_bytes(tensor const& t, std::uint64_t first, std::span<std::byte> out) const {
    require_piece(t, first, out.size(), t.end - t.begin, "bytes");
    read_at(t, first, out);
  }

 private:
  [[noreturn]] void refuse(std::string const& why) const {
    lowp::detail::raise<std::runtime_error>("lowp::safetensors: " + detail::shown_path(path_) +
                                            ": " + why);
  }
  [[nodiscard]] struct stat facts() const {
    struct stat now{};
    if (::fstat(at_.number, &now) != 0) refuse(std::strerror(errno));
    return now;
  }
  void read_header() {
    struct stat const now = facts();
    if (S_ISDIR(now.st_mode)) refuse("it is a folder");
    if (!S_ISREG(now.st_mode)) refuse("it is no regular file");
    auto const size = static_cast<std::uint64_t>(now.st_size);
    if (size < length_bytes)
      refuse("it has " + std::to_string(size) + " bytes, and a header's length alone has 8");
    std::uint64_t length = 0;
    pread_all(0, std::as_writable_bytes(std::span(&length, 1)), "the length of its header");
    if (length > most_header_bytes) {
      std::string front(std::min<std::uint64_t>(size, detail::lfs_pointer.size()), '\0');
      pread_all(0, std::as_writable_bytes(std::span(front)), "its header");
      if (front == detail::lfs_pointer) refuse(detail::not_pulled);
      refuse("its header has " + std::to_string(length) + " bytes, and may have " +
             std::to_string(most_header_bytes) + ": is it a safetensors file?");
    }
    if (length > size - length_bytes)
      refuse("its header has " + std::to_string(length) + " bytes, and the file only " +
             std::to_string(size));
    std::string text(static_cast<std::size_t>(length), '\0');
    pread_all(length_bytes, std::as_writable_bytes(std::span(text)), "its header");
    data_ = length_bytes + length;

    detail::error_text wrong = detail::parse(text, header_);
    if (wrong.empty()) wrong = detail::check_header(header_, size - data_);
    if (!wrong.empty()) refuse(wrong);
    std::ranges::stable_sort(header_.tensors, {}, &tensor::begin);
    for (tensor const& t : tensors()) by_name_.emplace(t.name, &t);
  }

  void require_piece(tensor const& t, std::uint64_t first, std::uint64_t count, std::uint64_t all,
                     char const* unit) const {
    if (first <= all && count <= all - first) return;
    refuse("tensor " + detail::shown(t.name) + ": " + std::to_string(count) + " " + unit +
           " from number " + std::to_string(first) + " on were asked for, and it has " +
           std::to_string(all));
  }
  void read_at(tensor const& t, std::uint64_t first, std::span<std::byte> out) const {
    pread_all(data_ + t.begin + first, out, "tensor " + detail::shown(t.name));
  }
  void pread_all(std::uint64_t offset, std::span<std::byte> out, std::string const& what) const {
    while (!out.empty()) {
      ssize_t const got = ::pread(at_.number, out.data(), out.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse(what + " cannot be read: " + std::strerror(errno));
      if (got == 0)
        refuse(what + ": the file has been cut to " + std::to_string(facts().st_size) + " bytes");
      offset += static_cast<std::uint64_t>(got);
      out = out.subspan(static_cast<std::size_t>(got));
    }
  }

  struct descriptor {
    explicit descriptor(char const* path) {
      // A pipe would wait for a writer without O_NONBLOCK.
      do number = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
      while (number < 0 && errno == EINTR);
    }
    descriptor(descriptor&& other) noexcept : number(std::exchange(other.number, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
      std::swap(number, other.number);
      return *this;
    }
    ~descriptor() {
      if (number >= 0) ::close(number);
    }
    int number = -1;
  };

  std::string path_;
  descriptor at_;
  std::uint64_t data_ = 0;  // offset of the data
  header header_;
  std::map<std::string_view, tensor const*> by_name_;
};

}  // namespace lowp::safetensors::inline LOWP_UNIT
