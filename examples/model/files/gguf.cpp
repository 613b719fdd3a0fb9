// SPDX-License-Identifier: Apache-2.0
#include "files/gguf.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "files/text.hpp"

namespace {

namespace st = lowp::safetensors;
using st::dtype;

// Types of ggml whose elements lie as safetensors has them, by their numbers in ggml.h.
std::optional<dtype> plain_type(std::uint32_t number) {
  switch (number) {
    case 0:
      return dtype::f32;
    case 1:
      return dtype::f16;
    case 24:
      return dtype::i8;
    case 25:
      return dtype::i16;
    case 26:
      return dtype::i32;
    case 27:
      return dtype::i64;
    case 28:
      return dtype::f64;
    case 30:
      return dtype::bf16;
    default:
      return {};
  }
}

constexpr std::uint32_t ggml_mxfp4 = 39, ggml_nvfp4 = 40;

// Blocks of types that stay bytes, by ggml.h and ggml-common.h.
struct sizes {
  std::uint32_t type;
  std::uint64_t elements, bytes;
};
constexpr sizes known_sizes[] = {
    {2, 32, 18},     // Q4_0
    {3, 32, 20},     // Q4_1
    {6, 32, 22},     // Q5_0
    {7, 32, 24},     // Q5_1
    {8, 32, 34},     // Q8_0
    {10, 256, 84},   // Q2_K
    {11, 256, 110},  // Q3_K
    {12, 256, 144},  // Q4_K
    {13, 256, 176},  // Q5_K
    {14, 256, 210},  // Q6_K
    {16, 256, 66},   // IQ2_XXS
    {17, 256, 74},   // IQ2_XS
    {18, 256, 98},   // IQ3_XXS
    {19, 256, 50},   // IQ1_S
    {20, 32, 18},    // IQ4_NL
    {21, 256, 110},  // IQ3_S
    {22, 256, 82},   // IQ2_S
    {23, 256, 136},  // IQ4_XS
    {29, 256, 56},   // IQ1_M
    {34, 256, 54},   // TQ1_0
    {35, 256, 66},   // TQ2_0
};

}  // namespace

// A block of ggml-common.h: scales of a byte, then codes of four bits.
struct gguf_file::block {
  std::uint64_t elements, scales;
  dtype scale;
};

std::optional<gguf_file::block> gguf_file::block_of(std::uint32_t type) {
  if (type == ggml_mxfp4) return block{32, 1, dtype::f8_e8m0};
  if (type == ggml_nvfp4) return block{64, 4, dtype::f8_e4m3};
  return {};
}

// A tensor and its file.
struct gguf_file::listed : gguf_tensor {
  gguf_shard const* shard;
};

gguf_file::gguf_file(std::string path) : path_(std::move(path)) {
  open_shards();
  std::map<std::string, gguf_shard const*> names;
  std::vector<listed> all;
  for (auto const& shard : shards_) {
    metadata_.insert(shard->metadata().begin(), shard->metadata().end());
    for (gguf_tensor const& each : shard->tensors()) {
      auto const [other, is_new] = names.emplace(each.name, shard.get());
      if (!is_new)
        shard->refuse(each.what() + " is in " + st::detail::shown_path(other->second->path()) +
                      ", too");
      all.push_back({each, shard.get()});
    }
  }
  std::set<std::string> const lacking = name_factors(all);
  for (listed const& each : all) {
    if (auto const type = plain_type(each.type))
      add_plain(each, *type);
    else if (auto const blocks = block_of(each.type))
      add_blocks(each, *blocks, lacking.contains(each.name));
    else
      add_bytes(each);
  }
}

// Whichever file of a split model is named, its name tells those of the others.
void gguf_file::open_shards() {
  shards_.push_back(std::make_unique<gguf_shard>(path_));
  gguf_shard const& named = *shards_.front();
  if (!named.split()) return;
  gguf_split const split = *named.split();
  auto const ending = [&](std::uint64_t number) {
    return fmt::format("-{:05}-of-{:05}.gguf", number + 1, split.count);
  };
  std::string const what = fmt::format("it is file {} of {}", split.number + 1, split.count);
  std::string stem = path_;
  if (stem.ends_with(ending(split.number)))
    stem.resize(stem.size() - ending(split.number).size());
  else if (split.count != 1)
    named.refuse(fmt::format("{}, and its name does not end in {}: the others cannot be found",
                             what, ending(split.number)));
  std::uint64_t tensors = named.tensors().size();
  for (std::uint64_t i = 0; i < split.count; ++i) {
    if (i == split.number) continue;
    std::string const path = stem + ending(i);
    std::error_code unknown;
    if (!std::filesystem::exists(path, unknown))
      named.refuse(fmt::format("{}, and {} is missing", what, st::detail::shown_path(path)));
    gguf_shard const& other = *shards_.emplace_back(std::make_unique<gguf_shard>(path));
    check_split(other, {i, split.count, split.tensors});
    tensors += other.tensors().size();
  }
  if (tensors != split.tensors)
    named.refuse(fmt::format("split.tensors.count is {}, and {} {}", split.tensors,
                             split.count == 1 ? "it has" : "the files have",
                             counted(tensors, "tensor")));
  // The metadata of the first file count.
  std::rotate(shards_.begin(), shards_.begin() + 1,
              shards_.begin() + 1 + static_cast<std::ptrdiff_t>(split.number));
}

void gguf_file::check_split(gguf_shard const& of, gguf_split const& wanted) const {
  if (!of.split())
    of.refuse(fmt::format("it has no split.count, and {} has {}", st::detail::shown_path(path_),
                          wanted.count));
  gguf_split const& found = *of.split();
  auto const check = [&](std::string_view key, std::uint64_t its, std::uint64_t right) {
    if (its != right)
      of.refuse(fmt::format("{} is {}, and by {} it is {}", key, its, st::detail::shown_path(path_),
                            right));
  };
  check("split.count", found.count, wanted.count);
  check("split.no", found.number, wanted.number);
  check("split.tensors.count", found.tensors, wanted.tensors);
}

std::vector<std::string> gguf_file::files() const {
  std::vector<std::string> paths;
  for (auto const& each : shards_) paths.push_back(each->path());
  return paths;
}

// Gives the factors of NVFP4 the names of ModelOpt. Returns the tensors that have none.
std::set<std::string> gguf_file::name_factors(std::vector<listed>& all) {
  std::map<std::string, listed*> by_name;
  for (listed& each : all) by_name.emplace(each.name, &each);
  std::set<std::string> lacking;
  for (listed const& each : all) {
    if (each.type != ggml_nvfp4) continue;
    constexpr std::string_view weight = ".weight";
    std::string stem = each.name;
    if (stem.ends_with(weight)) stem.resize(stem.size() - weight.size());
    auto found = by_name.find(stem + ".scale");
    if (found == by_name.end()) found = by_name.find(each.name + ".scale");
    if (found == by_name.end())
      lacking.insert(each.name);
    else
      found->second->name = each.name + "_scale_2";
  }
  return lacking;
}

// Returns the number of blocks, which lie in the file.
std::uint64_t gguf_file::check_room(listed const& of, std::uint64_t elements, std::uint64_t bytes) {
  std::uint64_t count = 1, needed = 0;
  bool is_too_large = false;
  for (std::uint64_t const extent : of.shape)
    is_too_large |= __builtin_mul_overflow(count, extent, &count);
  is_too_large |= __builtin_mul_overflow(count / elements, bytes, &needed);
  if (is_too_large || needed > of.room)
    of.shard->refuse(fmt::format("{} has {} bytes in the file, too few for its extents {}",
                                 of.what(), of.room, fmt::join(of.shape, " x ")));
  return count / elements;
}

void gguf_file::add_plain(listed const& of, dtype type) {
  std::uint64_t const size = bits_of(type) / 8;
  add(of, of.name, type, of.shape, check_room(of, 1, size) * size, {of.at});
}

void gguf_file::check_rows(listed const& of, std::uint64_t elements) {
  if (of.shape.empty() || of.shape.back() % elements != 0)
    of.shard->refuse(fmt::format("{} has rows of {} values, no whole blocks of {}", of.what(),
                                 of.shape.empty() ? 1 : of.shape.back(), elements));
}

void gguf_file::add_bytes(listed const& of) {
  auto const* const known = std::ranges::find(known_sizes, of.type, &sizes::type);
  std::uint64_t bytes = of.room;
  if (known != std::end(known_sizes)) {
    check_rows(of, known->elements);
    bytes = check_room(of, known->elements, known->bytes) * known->bytes;
  }
  add(of, of.name, dtype::u8, {bytes}, bytes, {of.at});
}

void gguf_file::add_blocks(listed const& of, block const& each, bool lacks_factor) {
  check_rows(of, each.elements);
  std::uint64_t const codes = each.elements / 2, bytes = each.scales + codes;
  std::uint64_t const number = check_room(of, each.elements, bytes);
  auto shape = of.shape;
  add(of, of.name, dtype::f4_e2m1, shape, number * codes,
      {of.at, bytes, each.scales, codes, codes / each.scales});
  shape.back() = shape.back() / each.elements * each.scales;
  add(of, of.name + "_scale", each.scale, shape, number * each.scales,
      {of.at, bytes, 0, each.scales});
  if (lacks_factor) add(of, of.name + "_scale_2", dtype::f32, {1}, sizeof(float), {});
}

void gguf_file::add(listed const& of, std::string name, dtype type,
                    std::vector<std::uint64_t> shape, std::uint64_t bytes, place where) {
  std::uint64_t const begin = tensors_.empty() ? 0 : tensors_.back().end;
  where.shard = of.shard;
  places_.insert_or_assign(begin, where);
  if (!numbers_.emplace(name, tensors_.size()).second)
    of.shard->refuse(fmt::format("tensor {} is there by itself and as a part of another",
                                 st::detail::shown(name)));
  tensors_.push_back({std::move(name), type, std::move(shape), begin, begin + bytes});
}

gguf_file::tensor const* gguf_file::find(std::string_view name) const {
  auto const found = numbers_.find(name);
  return found == numbers_.end() ? nullptr : &tensors_[found->second];
}

void gguf_file::read_bytes(tensor const& t, std::uint64_t first, std::span<std::byte> out) const {
  if (out.empty()) return;
  place const& from = places_.at(t.begin);
  if (from.at == 0) {  // the factor that the file leaves out
    float const one = 1;
    std::ranges::copy(std::as_bytes(std::span(&one, 1)).subspan(first, out.size()), out.begin());
    return;
  }
  if (from.block == from.taken) return from.shard->read_at(from.at + first, out);
  std::uint64_t const begin = first / from.taken;
  std::uint64_t const end = (first + out.size() + from.taken - 1) / from.taken;
  std::vector<std::byte> blocks((end - begin) * from.block), taken;
  from.shard->read_at(from.at + begin * from.block, blocks);
  taken.reserve((end - begin) * from.taken);
  for (std::size_t i = 0; i < blocks.size(); i += from.block) {
    auto const bytes = std::span(blocks).subspan(i + from.skipped, from.taken);
    for (std::size_t j = 0; j < bytes.size(); ++j) {
      if (from.split == 0) {
        // ggml takes this scale, a NaN of e4m3, as zero.
        bool const is_zero = t.type == dtype::f8_e4m3 && bytes[j] == std::byte{0x7f};
        taken.push_back(is_zero ? std::byte{0} : bytes[j]);
        continue;
      }
      std::size_t const start = j / from.split * from.split, k = j % from.split;
      auto const code = [&](std::size_t element) {
        std::byte const both = bytes[start + element % from.split];
        return (element < from.split ? both : both >> 4) & std::byte{0xf};
      };
      taken.push_back(code(2 * k) | code(2 * k + 1) << 4);
    }
  }
  std::copy_n(taken.begin() + static_cast<std::ptrdiff_t>(first - begin * from.taken), out.size(),
              out.begin());
}
