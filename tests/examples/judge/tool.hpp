// SPDX-License-Identifier: Apache-2.0
// The program of examples/judge, called as a shell would call it, and files for it.
#pragma once

#include <gtest/gtest.h>
#include <inputs.hpp>
#include <program.hpp>
#include <rounding.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "oracle/codec.hpp"
#include "support/scratch.hpp"

namespace lowp_test {

struct said {
  int status = -1;
  std::string out, err;
};

inline said judged(std::vector<std::string> arguments) {
  char *out_text = nullptr, *err_text = nullptr;
  std::size_t out_size = 0, err_size = 0;
  std::FILE *const out = ::open_memstream(&out_text, &out_size), *const err = ::open_memstream(
                                                                     &err_text, &err_size);
  auto const status = judge::run(std::move(arguments), out, err);
  std::fclose(out);
  std::fclose(err);
  said const all{static_cast<int>(status), out_text, err_text};
  std::free(out_text);
  std::free(err_text);
  return all;
}

// A .npy file as NumPy writes it.
inline std::string npy_of(std::string const& descr, std::string const& shape,
                          std::string const& data, std::string const& fortran = "False") {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
  header.append(127 - 10 - header.size() % 64, ' ');
  while ((header.size() + 11) % 64 != 0) header += ' ';
  header += '\n';
  std::string file = "\x93NUMPY";
  file += '\1';
  file += '\0';
  file += static_cast<char>(header.size() % 256);
  file += static_cast<char>(header.size() / 256);
  return file + header + data;
}

inline std::string bytes_of(std::vector<std::uint64_t> const& codes, unsigned width) {
  std::string bytes;
  for (std::uint64_t const code : codes)
    for (unsigned k = 0; k < width; ++k) bytes += static_cast<char>(code >> (8 * k) & 0xff);
  return bytes;
}

// The data of a .npy file with one dimension, whose header has 64 bytes times a number.
inline std::vector<std::uint64_t> words_of_npy(std::string const& file, unsigned width) {
  std::size_t const offset = 10 + static_cast<unsigned char>(file.at(8)) +
                             256 * static_cast<std::size_t>(static_cast<unsigned char>(file.at(9)));
  std::vector<std::uint64_t> words((file.size() - offset) / width);
  for (std::size_t i = 0; i < words.size(); ++i)
    for (unsigned k = 0; k < width; ++k)
      words[i] |= std::uint64_t{static_cast<unsigned char>(file[offset + i * width + k])}
                  << (8 * k);
  return words;
}

using conversion = std::function<std::uint64_t(std::uint32_t)>;

// Runs somebody's conversion from float32 on the program's inputs, and asks for its name.
inline said named(std::string const& to, conversion const& convert) {
  scratch_folder const folder;
  std::string const in = folder.file("in.npy"), out = folder.file("out.npy");
  said const wrote = judged({"inputs", "--to", to, "-o", in});
  EXPECT_EQ(wrote.status, 0) << wrote.err;
  std::vector<std::uint64_t> codes = words_of_npy(contents(in), 4);
  EXPECT_GT(codes.size(), 5000U);
  for (std::uint64_t& code : codes) code = convert(static_cast<std::uint32_t>(code));
  unsigned const width = judge::type_named(to).bytes();
  set_contents(out, npy_of("<u" + std::to_string(width), "(" + std::to_string(codes.size()) + ",)",
                           bytes_of(codes, width)));
  return judged({"name", in, out, "--to", to});
}

inline bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace lowp_test
