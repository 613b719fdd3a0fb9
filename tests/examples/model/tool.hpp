// SPDX-License-Identifier: Apache-2.0
// The program of examples/model, called as a shell would call it, and files for it.
#pragma once

#include <gtest/gtest.h>
#include <lowp/safetensors.hpp>
#include <program.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "oracle/support.hpp"
#include "support/scratch.hpp"

namespace lowp_test {

namespace st = lowp::safetensors;

class text_stream {
 public:
  text_stream() : file_(::open_memstream(&text_, &size_)) {}
  text_stream(text_stream const&) = delete;
  text_stream& operator=(text_stream const&) = delete;
  ~text_stream() {
    std::fclose(file_);
    std::free(text_);
  }
  [[nodiscard]] std::FILE* file() const { return file_; }
  [[nodiscard]] std::string text() const {
    std::fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

struct said {
  int status = -1;
  std::string out, err;
};

inline said tool(std::vector<std::string> arguments) {
  text_stream const out, err;
  status const result = run(std::move(arguments), out.file(), err.file());
  return {static_cast<int>(result), out.text(), err.text()};
}

// The one line that refuses a call.
inline std::string refusal(std::vector<std::string> arguments) {
  said const s = tool(std::move(arguments));
  EXPECT_EQ(s.status, 2) << s.out;
  EXPECT_TRUE(s.err.starts_with("lowp-model: ") && !s.err.starts_with("lowp-model: lowp")) << s.err;
  EXPECT_EQ(s.err.find('\n'), s.err.size() - 1) << s.err;
  return s.err;
}

inline testing::AssertionResult has(std::string const& text, std::string const& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "there is no \"" << part << "\" in:\n" << text;
}

struct named_bytes {
  std::string name;
  st::dtype type;
  std::vector<std::uint64_t> shape;
  std::vector<std::byte> bytes;
};

template <st::stored T>
named_bytes of(std::string name, std::vector<T> const& values,
               std::vector<std::uint64_t> shape = {}) {
  if (shape.empty()) shape = {values.size()};
  auto const bytes = std::as_bytes(std::span(values));
  return {std::move(name), st::dtype_of<T>, std::move(shape), {bytes.begin(), bytes.end()}};
}

inline void write(std::string const& path, std::vector<named_bytes> const& tensors,
                  std::map<std::string, std::string> const& metadata = {}) {
  std::vector<st::tensor> header;
  for (auto const& t : tensors)
    header.push_back({.name = t.name, .type = t.type, .shape = t.shape});
  st::writer out(path, header, metadata);
  for (auto const& t : tensors) out.append_bytes(t.name, t.bytes);
  out.finish();
}

// Floats that reach the corners.
inline std::vector<float> patterns(std::size_t count, std::uint64_t seed) {
  oracle_test::float_patterns next(seed);
  std::vector<float> values(count);
  for (float& x : values) x = oracle_test::value(next.next());
  return values;
}

// A model in a file, and another file.
class model_tool : public testing::Test {
 protected:
  scratch_folder folder;
  std::string const model = folder.file("model.safetensors"), out = folder.file("out.safetensors");
};

}  // namespace lowp_test
