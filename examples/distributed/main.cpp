// SPDX-License-Identifier: Apache-2.0
// Trains the model of train/ on any number of MPI ranks, or in one process that uses no MPI. The
// parameters have the same bits in all cases.
#include <lowp/mpi.hpp>

#include <CLI/CLI.hpp>
#include <exception>

#include "distributed/training.hpp"
#include "whole.hpp"

namespace {

/// Merges to `differs` if the ranks' replicas do not have one hash.
struct replicas {
  std::uint64_t hash = 0, count = 0;
  bool differs = false;

  replicas& operator+=(replicas const& other) {
    differs = differs || other.differs || (count != 0 && hash != other.hash);
    hash = other.hash;
    count += other.count;
    return *this;
  }
};

template <class Group>
void run(Group& group, settings const& how) {
  training<Group> model(group, how);
  if (!how.resume.empty()) model.resume();
  if (model.step() > how.steps)
    throw std::runtime_error(
        fmt::format("the checkpoint is at step {}, --steps is {}", model.step(), how.steps));
  bool const speaks = group.rank() == 0;
  if (speaks)
    fmt::print("{} on {} ranks, from step {}: loss {:.4f}\n", how.mode, group.size(), model.step(),
               model.loss());
  std::uint64_t const first = model.step();
  while (model.step() < how.steps) {
    model.advance();
    if (how.save_every != 0 && model.step() % how.save_every == 0) model.save();
  }
  if (how.save_every == 0 && !how.save.empty()) model.save();
  replicas all{model.hash(), 1};
  group.merge(all);
  if (all.differs) throw std::runtime_error("the ranks have different parameters");
  if (!speaks) return;
  std::uint64_t const steps = model.step() == first ? 1 : model.step() - first;
  fmt::print("step {}: loss {:.4f}\n", model.step(), model.loss());
  fmt::print(
      "rank 0: {} leaves, {} parameters, {} in its shard; bytes: keeps {}, sends {} a step\n",
      model.leaf_count(), model.size(), model.shard_size(), model.bytes_kept(),
      model.bytes_sent() / steps);
  fmt::print("parameters {:016x}\n", model.hash());
}

int run_on_ranks(settings const& how) {
  MPI_Init(nullptr, nullptr);
  try {
    lowp::mpi::communicator world(MPI_COMM_WORLD);
    run(world, how);
  } catch (std::exception const& e) {
    fmt::print(stderr, "distributed: {}\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program("Sharded AdamW: the same bits on any number of ranks.");
  CLI::Validator const whole(to_whole, "");
  settings how;
  bool uses_no_mpi = false;
  program.add_option("--mode", how.mode, "storage and wire of gradients")
      ->check(CLI::IsMember({"bf16", "fsdp", "fp8-lm", "mxfp8"}));
  program.add_option("--steps", how.steps, "last step")->transform(whole);
  program.add_option("--seed", how.seed, "of weights, data and rounding")->transform(whole);
  auto* const save = program.add_option("--save", how.save, "checkpoint to write at the end");
  program.add_option("--save-every", how.save_every, "or after every so many steps")
      ->transform(whole)
      ->needs(save);
  program.add_option("--resume", how.resume, "checkpoint of any number of ranks");
  program.add_option("--kill-step", how.kill_step, "for tests: kill a rank in this step")
      ->transform(whole);
  program.add_option("--kill-rank", how.kill_rank, "for tests: that rank")->transform(whole);
  program
      .add_option("--kill-byte", how.kill_byte,
                  "for tests: kill rank 0 after so many bytes of that step's checkpoint")
      ->transform(whole);
  program.add_flag("--no-mpi", uses_no_mpi, "one process without MPI");
  CLI11_PARSE(program, argc, argv);
  if (!uses_no_mpi) return run_on_ranks(how);
  try {
    one_process alone;
    run(alone, how);
  } catch (std::exception const& e) {
    fmt::print(stderr, "distributed: {}\n", e.what());
    return 2;
  }
  return 0;
}
