// SPDX-License-Identifier: Apache-2.0
#include "files/model.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <set>
#include <system_error>

#include "files/index.hpp"
#include "files/problem.hpp"
#include "files/text.hpp"
#include "targets/targets.hpp"

namespace st = lowp::safetensors;

namespace {

constexpr std::string_view before = "scalar.", after = ".scale";

// A file of several can be asked for alone, and then is half a model.
std::string note_on_name(std::string const& path) {
  std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  name = name.substr(0, name.rfind('.'));
  constexpr std::string_view places = "-00001-of-00002";
  if (name.size() <= places.size()) return "";
  name.remove_prefix(name.size() - places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    bool const is_digit = places[i] >= '0' && places[i] <= '9';
    if (is_digit ? name[i] < '0' || name[i] > '9' : name[i] != places[i]) return "";
  }
  if (name.ends_with("-00001")) return "";
  return fmt::format("{} has the name of one of several files: name their index for all of them",
                     st::detail::shown_path(path));
}

}  // namespace

std::string key_of_scale(std::string_view name) {
  return std::string(before).append(name).append(after);
}

std::optional<std::string_view> tensor_of_scale(std::string_view key) {
  bool const is_one =
      key.size() >= before.size() + after.size() && key.starts_with(before) && key.ends_with(after);
  if (!is_one) return {};
  return key.substr(before.size(), key.size() - before.size() - after.size());
}

model::model(std::string path) : path_(std::move(path)), is_sharded_(path_.ends_with(".json")) {
  if (is_sharded_) {
    open_shards();
  } else {
    shards_.push_back(open_tensors(path_));
    for (st::tensor const& t : shards_[0]->tensors()) entries_.push_back({&t, 0});
    is_sharded_ = shards_[0]->files().size() > 1;
    if (!is_sharded_) note_ = note_on_name(path_);
  }
  for (auto const& shard : shards_)
    metadata_.insert(shard->metadata().begin(), shard->metadata().end());
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](entry const& a, entry const& b) { return a.name() < b.name(); });
  auto const twice =
      std::adjacent_find(entries_.begin(), entries_.end(),
                         [](entry const& a, entry const& b) { return a.name() == b.name(); });
  if (twice != entries_.end())
    throw problem(fmt::format("'{}': tensor {} is in '{}' and in '{}'", path_,
                              st::detail::shown(twice->name()), shards_[twice->shard]->path(),
                              shards_[std::next(twice)->shard]->path()));
  leave_out();
  join_blocks();
  note_other_scales();
  for (entry& each : entries_) read_scale(each);
}

// Says which tensors of the files are not the model's.
void model::leave_out() {
  std::set<std::string_view> names;
  for (auto const& shard : shards_)
    for (st::tensor const& t : shard->tensors())
      if (find(t.name) == nullptr) names.insert(t.name);
  if (names.empty()) return;
  for (std::string_view const name : names) metadata_.erase(key_of_scale(name));
  constexpr std::size_t most = 5;
  note_ =
      fmt::format("{} names not all tensors of its files: without {}",
                  st::detail::shown_path(path_), shown_names({names.begin(), names.end()}, most));
}

void model::join_blocks() {
  auto const find_place = [&](std::string_view name) {
    entry const* const found = find(name);
    return found == nullptr ? part{} : part{found->tensor, found->shard};
  };
  for (entry const& each : entries_) {
    auto found = find_block_scales({each.tensor, each.shard}, find_place);
    if (!found) continue;
    if (found->global.tensor != nullptr) {
      read(found->global, 0, std::as_writable_bytes(std::span(found->factors)));
      // A tensor of zeros has the factor zero.
      bool const multiplies = found->convention == global_scale::multiplies;
      for (float const factor : found->factors)
        if (!std::isfinite(factor) || factor < 0 || (factor == 0 && !multiplies))
          throw problem(fmt::format("'{}': the scale of tensor {}, in {}, is {}", path_,
                                    st::detail::shown(found->codes.tensor->name),
                                    st::detail::shown(found->global.tensor->name), factor));
    }
    blocks_.push_back(std::move(*found));
  }
  std::set<st::tensor const*> joined;
  for (block_scales const& each : blocks_)
    for (part const& p : {each.codes, each.scales, each.global}) joined.insert(p.tensor);
  std::erase_if(entries_, [&](entry const& e) { return joined.contains(e.tensor); });
  for (block_scales const& each : blocks_)
    entries_.push_back({&each.whole, each.codes.shard, 1, &each});
  std::ranges::stable_sort(entries_, {}, &entry::name);
  auto const twice = std::ranges::adjacent_find(entries_, {}, &entry::name);
  if (twice != entries_.end())
    throw problem(fmt::format("'{}': tensor {} is there by itself and as {}", path_,
                              st::detail::shown(twice->name()),
                              (twice->blocks != nullptr ? *twice : *std::next(twice)).type_text()));
}

// Says which tensors of 8 bits have a scale beside them that nothing here applies.
void model::note_other_scales() {
  std::vector<std::string_view> names;
  for (entry const& each : entries_) {
    if (!each.takes_scale() || bits_of(each.type()) != 8) continue;
    std::string stem = each.name();
    if (stem.ends_with("weight")) stem.resize(stem.size() - std::string_view("weight").size());
    for (std::string const& other : {each.name() + "_scale", each.name() + "_scale_inv",
                                     stem + "scale_weight", stem + "scale"})
      if (entry const* const scale = find(other); scale != nullptr && scale->takes_scale()) {
        names.push_back(each.name());
        break;
      }
  }
  if (names.empty()) return;
  constexpr std::size_t most = 5;
  note_ += fmt::format("{}nothing applies the scales that lie beside {}", note_.empty() ? "" : "; ",
                       shown_names(names, most));
}

std::uint64_t model::entry::all_bytes() const {
  std::uint64_t sum = 0;
  for (part const& p : parts()) sum += p.tensor->end - p.tensor->begin;
  return sum;
}

bool model::entry::takes_scale() const { return blocks == nullptr && facts_of(type()) != nullptr; }

std::vector<part> model::entry::parts() const {
  if (blocks == nullptr) return {{tensor, shard}};
  std::vector<part> all{blocks->codes, blocks->scales};
  if (blocks->global.tensor != nullptr) all.push_back(blocks->global);
  return all;
}

void model::open_shards() {
  std::filesystem::path const folder = std::filesystem::path(path_).parent_path();
  std::map<std::string, std::size_t> numbers;
  std::set<st::tensor const*> chosen;
  read_index(path_, [&](std::string const& tensor, std::string const& file) {
    auto const [place, is_new] = numbers.try_emplace(file, shards_.size());
    if (is_new) shards_.push_back(open_tensors((folder / file).string()));
    tensor_file const& shard = *shards_[place->second];
    st::tensor const* const found = shard.find(tensor);
    if (found == nullptr)
      throw problem(fmt::format("'{}': tensor {} is not in '{}'", path_, st::detail::shown(tensor),
                                shard.path()));
    if (chosen.insert(found).second) entries_.push_back({found, place->second});
  });
}

void model::read_scale(entry& of) const {
  auto const& texts = shards_[of.shard]->metadata();
  auto const found = texts.find(key_of_scale(of.name()));
  if (found == texts.end() || !of.takes_scale()) return;
  std::string const& text = found->second;
  char const* const end = text.data() + text.size();
  auto const read = std::from_chars(text.data(), end, of.scale);
  int exponent = 0;
  bool const is_number = read.ec == std::errc() && read.ptr == end && std::isnormal(of.scale);
  if (!is_number || std::frexp(of.scale, &exponent) != 0.5f || std::abs(exponent - 1) > 126)
    throw problem(fmt::format(
        "'{}': the scale of tensor {} is {}, not a power of two from 2^-126 to 2^126",
        shards_[of.shard]->path(), st::detail::shown(of.name()), st::detail::shown(text)));
}

model::entry const* model::find(std::string_view name) const {
  auto const found =
      std::lower_bound(entries_.begin(), entries_.end(), name,
                       [](entry const& e, std::string_view wanted) { return e.name() < wanted; });
  return found != entries_.end() && found->name() == name ? &*found : nullptr;
}

std::uint64_t model::bytes() const {
  std::uint64_t sum = 0;
  for (entry const& each : entries_) sum += each.all_bytes();
  return sum;
}

bool model::has_file_at(std::string const& path) const {
  std::error_code not_there;
  auto const is_at = [&](std::string const& other) {
    return std::filesystem::equivalent(path, other, not_there);
  };
  return is_at(path_) || std::any_of(shards_.begin(), shards_.end(), [&](auto& f) {
           return std::ranges::any_of(f->files(), is_at);
         });
}

void model::spare(std::string const& path) const {
  if (has_file_at(path))
    throw problem(fmt::format("'{}' is {} '{}': name another file", path,
                              is_sharded_ ? "a part of" : "the model", path_));
}
