// SPDX-License-Identifier: Apache-2.0
// A GGUF file, byte by byte, as docs/gguf.md of ggml has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lowp_test {

struct gguf_tensor {
  std::string name;
  std::vector<std::uint64_t> extents;  // innermost first
  std::uint32_t type = 0;
  std::string data;
};

class gguf_text {
 public:
  template <class T>
  gguf_text& number(T x) {
    text.append(reinterpret_cast<char const*>(&x), sizeof(x));
    return *this;
  }
  gguf_text& name(std::string_view x) {
    number<std::uint64_t>(x.size());
    text += x;
    return *this;
  }
  gguf_text& start(std::uint64_t tensors, std::uint64_t values, std::uint32_t version = 3) {
    text = "GGUF";
    return number(version).number(tensors).number(values);
  }
  gguf_text& info(gguf_tensor const& of, std::uint64_t offset) {
    name(of.name).number(static_cast<std::uint32_t>(of.extents.size()));
    for (std::uint64_t const extent : of.extents) number(extent);
    return number(of.type).number(offset);
  }
  gguf_text& pad(std::size_t to) {
    text.resize((text.size() + to - 1) / to * to);
    return *this;
  }

  std::string text;
};

// The place of a file in a model of several, as llama.cpp writes it.
struct gguf_place {
  std::uint16_t number, count;
  std::int32_t tensors;
};

// The tensors, after metadata of each kind.
inline std::string gguf_of(std::vector<gguf_tensor> const& tensors,
                           std::optional<gguf_place> const& place = {}) {
  gguf_text file;
  file.start(tensors.size(), place ? 7 : 4);
  if (place) {
    file.name("split.no").number(2u).number(place->number);
    file.name("split.count").number(2u).number(place->count);
    file.name("split.tensors.count").number(5u).number(place->tensors);
  }
  file.name("general.architecture").number(8u).name("llama");
  file.name("general.alignment").number(4u).number(64u);
  file.name("tokenizer.tokens").number(9u).number(8u).number<std::uint64_t>(2).name("a").name("b");
  file.name("some.rate").number(6u).number(0.5f);
  std::uint64_t offset = 0;
  for (gguf_tensor const& each : tensors) {
    file.info(each, offset);
    offset += (each.data.size() + 63) / 64 * 64;
  }
  for (gguf_tensor const& each : tensors) {
    file.pad(64);
    file.text += each.data;
  }
  return file.text;
}

}  // namespace lowp_test
