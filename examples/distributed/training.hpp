// SPDX-License-Identifier: Apache-2.0
// Sharded AdamW. Every rank has all bfloat16 parameters. It has masters and moments of its shard
// alone (ZeRO-1, FSDP's SHARD_GRAD_OP). The group is mpi::communicator, or one_process.
#pragma once

#include <fmt/core.h>
#include <sys/resource.h>
#include <lowp/checkpoint.hpp>
#include <lowp/distributed/exchange.hpp>
#include <lowp/distributed/wire.hpp>
#include <lowp/lowp.hpp>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "train/model.hpp"
#include "train/text.hpp"

struct settings {
  std::uint64_t steps = 100, seed = 1, save_every = 0, kill_step = 0, kill_byte = 0;
  int kill_rank = -1;
  std::size_t leaves = 12, leaf_size = 8;
  std::string mode = "bf16", save, resume;
};

/// Reference: the same sums with no communicator. Leaves are cast and added one after the other.
class one_process {
 public:
  int rank() const { return 0; }
  int size() const { return 1; }
  lowp::shard shard_of(std::uint64_t count) const { return {0, count}; }
  bool any(bool here) const { return here; }
  template <class T>
  void merge(T&) const {}
  template <class T>
  void all_gather(T&&) const {}

  template <class T, class R>
  void reduce_scatter(std::vector<std::vector<float>> const& leaves, std::span<float> total,
                      lowp::wire_format<T, R> const& wire) const {
    std::vector<T> codes(total.size());
    std::fill(total.begin(), total.end(), 0.0f);
    for (std::size_t l = 0; l < leaves.size(); ++l) {
      lowp::scaled_cast(leaves[l], codes, wire.scale, of_leaf(wire.rounding, l * total.size()));
      lowp::fused_add(total, 1 / wire.scale, codes);
    }
  }
  template <class T, int Block, class R>
  void reduce_scatter(std::vector<std::vector<float>> const& leaves, std::span<float> total,
                      lowp::block_wire_format<T, Block, R> const& wire) const {
    std::vector<T> codes(total.size());
    std::vector<lowp::float8_e8m0fnu> scales((total.size() + Block - 1) / Block);
    std::fill(total.begin(), total.end(), 0.0f);
    for (std::size_t l = 0; l < leaves.size(); ++l) {
      auto const blocks = lowp::blocks_of<Block>(codes, scales);
      lowp::block_cast(leaves[l], blocks, of_leaf(wire.rounding, l * total.size()));
      lowp::fused_add(total, 1.0f, blocks);
    }
  }

 private:
  static lowp::nearest_even of_leaf(lowp::nearest_even r, std::uint64_t) { return r; }
  static lowp::stochastic of_leaf(lowp::stochastic r, std::uint64_t first) {
    return r.after(first);
  }
};

template <class Group>
class training {
 public:
  training(Group& group, settings const& how)
      : group_(group),
        how_(how),
        text_(LOWP_DEFAULT_TEXT),
        shape_(shape_of_model(text_.vocabulary().size())),
        sample_(text_.held_out_sample(512)),
        parameters_(size_of(shape_)),
        own_(group.shard_of(parameters_.size())) {
    std::vector<float> initial;
    for (std::vector<float> const& w : initial_weights(shape_, how.seed))
      initial.insert(initial.end(), w.begin(), w.end());
    lowp::cast(initial, parameters_);
    if (has_master()) {
      master_.assign(initial.begin() + static_cast<std::ptrdiff_t>(own_.first),
                     initial.begin() + static_cast<std::ptrdiff_t>(own_.end()));
      first_.resize(own_.size);
      second_.resize(own_.size);
    } else {
      narrow_first_.resize(own_.size);
      narrow_second_.resize(own_.size);
    }
  }

  std::uint64_t step() const { return step_; }
  std::size_t size() const { return parameters_.size(); }
  std::uint64_t bytes_sent() const { return sent_; }
  std::size_t shard_size() const { return own_.size; }
  /// The number of this rank's leaves in a step.
  std::size_t leaf_count() const {
    return first_leaf(group_.rank() + 1) - first_leaf(group_.rank());
  }
  std::size_t bytes_kept() const {
    auto const bytes = [](auto const&... v) { return (std::span(v).size_bytes() + ...); };
    return bytes(parameters_, master_, first_, second_, narrow_first_, narrow_second_);
  }

  /// FNV-1a of the parameters' bits.
  std::uint64_t hash() const {
    std::uint64_t h = 0xcbf29ce484222325;
    for (lowp::bfloat16 p : parameters_) h = (h ^ p.bits()) * 0x100000001b3;
    return h;
  }
  double loss() const { return loss_of(weights(), shape_, sample_); }

  void advance() {
    std::uint64_t const step = step_ + 1;
    std::vector<std::vector<float>> const leaves = gradients(step);
    lowp::amax largest;
    for (std::vector<float> const& g : leaves) largest += lowp::measure(g).largest;
    group_.merge(largest);
    step_ = step;
    if (group_.any(!std::isfinite(largest.value()))) return;  // all ranks skip the step

    std::vector<float> total(own_.size);
    // The wire has tensor 1's bits, the update tensor 0's.
    lowp::stochastic const bits{how_.seed, lowp::stream_of(1, step)};
    if (how_.mode == "fsdp")
      reduce(leaves, total, lowp::wire<float>());
    else if (how_.mode == "bf16")
      reduce(leaves, total, lowp::wire<lowp::bfloat16>(bits));
    else if (how_.mode == "fp8-lm")
      reduce(leaves, total,
             lowp::wire<lowp::float8_e4m3fn>(
                 bits, lowp::power_of_two_scale<lowp::float8_e4m3fn>(largest)));
    else
      reduce(leaves, total, lowp::block_wire<lowp::float8_e4m3fn>(bits));
    lowp::scaled_cast(total, total, 1 / static_cast<float>(how_.leaves));
    if (step == how_.kill_step && group_.rank() == how_.kill_rank) std::raise(SIGKILL);

    std::span const part = std::span(parameters_).subspan(own_.first, own_.size);
    lowp::adamw const optimizer{.lr = 3e-3};
    lowp::stochastic const rounding{.seed = how_.seed, .offset = own_.first};
    if (has_master())
      lowp::update(lowp::master{std::span(master_), part}, total, first_, second_, optimizer, step,
                   rounding);
    else
      lowp::update(part, total, narrow_first_, narrow_second_, optimizer, step, rounding);
    group_.all_gather(parameters_);
    sent_ += own_.size * sizeof(parameters_[0]) * static_cast<std::uint64_t>(group_.size() - 1);
  }

  /// Every rank gathers the whole state, and rank 0 writes it. So any number of ranks resumes.
  void save() {
    whole state = gathered();
    if (how_.kill_byte != 0 && step_ == how_.kill_step && group_.rank() == 0)
      die_at_byte(how_.kill_byte);
    std::string wrong;
    try {
      if (group_.rank() == 0) state.describe(*this).save(how_.save);
    } catch (std::exception const& failed) {
      wrong = failed.what();
    }
    if (group_.any(!wrong.empty()))
      throw std::runtime_error(wrong.empty() ? "rank 0 could not save" : wrong);
  }
  void resume() {
    whole state = gathered();
    state.describe(*this).load(how_.resume);
    state.visit(*this, [&](auto& mine, auto const& all) {
      auto const from = all.begin() + static_cast<std::ptrdiff_t>(own_.first);
      std::copy(from, from + static_cast<std::ptrdiff_t>(mine.size()), mine.begin());
    });
  }

 private:
  /// Kills this process when a file of its own grows beyond `size` bytes.
  static void die_at_byte(std::uint64_t size) {
    std::signal(SIGXFSZ, [](int) { std::raise(SIGKILL); });
    rlimit const limit{size, size};
    setrlimit(RLIMIT_FSIZE, &limit);
  }

  struct whole {
    std::vector<float> master, first, second;
    std::vector<lowp::bfloat16> narrow_first, narrow_second;

    template <class Function>
    void visit(training& t, Function const& function) {
      if (t.has_master()) {
        function(t.master_, master);
        function(t.first_, first);
        function(t.second_, second);
      } else {
        function(t.narrow_first_, narrow_first);
        function(t.narrow_second_, narrow_second);
      }
    }
    lowp::checkpoint describe(training& t) {
      lowp::checkpoint file;
      file.scalar("step", t.step_).scalar("seed", t.how_.seed);
      file.tensor("parameters", t.parameters_);
      if (t.has_master())
        file.tensor("master", master).tensor("first", first).tensor("second", second);
      else
        file.tensor("first", narrow_first).tensor("second", narrow_second);
      return file;
    }
  };
  whole gathered() {
    whole state;
    state.visit(*this, [&](auto const& mine, auto& all) {
      all.resize(parameters_.size());
      std::copy(mine.begin(), mine.end(), all.begin() + static_cast<std::ptrdiff_t>(own_.first));
      group_.all_gather(all);
    });
    return state;
  }

  std::size_t first_leaf(int rank) const {
    return how_.leaves * static_cast<std::size_t>(rank) / static_cast<std::size_t>(group_.size());
  }
  bool has_master() const { return how_.mode == "fsdp"; }

  tensors weights() const {
    tensors result;
    std::size_t first = 0;
    for (std::size_t t = 0; t < tensor_count; ++t) {
      result[t].resize(shape_[t].size());
      lowp::cast(std::span(parameters_).subspan(first, result[t].size()), result[t]);
      first += result[t].size();
    }
    return result;
  }

  /// The gradients of this rank's run of leaves.
  std::vector<std::vector<float>> gradients(std::uint64_t step) const {
    tensors const w = weights();
    batch const all = text_.training_batch(how_.seed, step, how_.leaves * how_.leaf_size);
    std::vector<std::vector<float>> leaves;
    std::size_t const end = first_leaf(group_.rank() + 1);
    for (std::size_t l = first_leaf(group_.rank()); l < end; ++l) {
      auto const part = [&](std::vector<std::uint8_t> const& v, std::size_t each) {
        auto const from = v.begin() + static_cast<std::ptrdiff_t>(l * how_.leaf_size * each);
        return std::vector(from, from + static_cast<std::ptrdiff_t>(how_.leaf_size * each));
      };
      tensors g;
      differentiate(w, shape_, {part(all.contexts, context_size), part(all.targets, 1)}, g);
      leaves.emplace_back();
      for (std::vector<float> const& t : g)
        leaves.back().insert(leaves.back().end(), t.begin(), t.end());
    }
    return leaves;
  }

  template <class Wire>
  void reduce(std::vector<std::vector<float>> const& leaves, std::span<float> total,
              Wire const& wire) {
    group_.reduce_scatter(leaves, total, wire);
    sent_ += leaves.size() * (wire.bytes(parameters_.size()) - wire.bytes(own_.size));
  }

  Group& group_;
  settings how_;
  text text_;
  model_shape shape_;
  batch sample_;
  std::vector<lowp::bfloat16> parameters_;
  lowp::shard own_;
  std::vector<float> master_, first_, second_;  // the shard's, like the next two
  std::vector<lowp::bfloat16> narrow_first_, narrow_second_;
  std::uint64_t step_ = 0, sent_ = 0;
};
