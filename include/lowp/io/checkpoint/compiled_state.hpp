// SPDX-License-Identifier: Apache-2.0
// The contents of a checkpoint in the library lowp::compiled. A unit that is linked with it has
// neither files nor JSON to compile. Nothing that both sides see has a unit's name.
#pragma once

#include <lowp/io/checkpoint/saved.hpp>

#if defined(LOWP_COMPILING)
#include <lowp/io/checkpoint/state.hpp>
#endif

namespace lowp::detail {

struct compiled_state;

#define LOWP_EXPORTED __attribute__((visibility("default")))
/// Returns a new state, empty or equal to another.
LOWP_EXPORTED compiled_state* new_state(compiled_state const* other);
LOWP_EXPORTED void delete_state(compiled_state* state);
LOWP_EXPORTED void add_to_state(compiled_state& state, std::string const&, saved_tensor const&);
LOWP_EXPORTED void add_to_state(compiled_state& state, std::string const&, saved_scalar const&);
LOWP_EXPORTED void save_state(compiled_state const& state, std::string const& path);
LOWP_EXPORTED void load_state(compiled_state const& state, std::string const& path);
#undef LOWP_EXPORTED

#if defined(LOWP_COMPILING)

struct compiled_state : checkpoint_state {};

compiled_state* new_state(compiled_state const* other) {
  return other == nullptr ? new compiled_state : new compiled_state(*other);
}
void delete_state(compiled_state* state) { delete state; }
void add_to_state(compiled_state& state, std::string const& name, saved_tensor const& t) {
  state.add(name, t);
}
void add_to_state(compiled_state& state, std::string const& name, saved_scalar const& s) {
  state.add(name, s);
}
void save_state(compiled_state const& state, std::string const& path) { state.save(path); }
void load_state(compiled_state const& state, std::string const& path) { state.load(path); }

#else

inline namespace LOWP_UNIT {

class checkpoint_state {
 public:
  checkpoint_state() : state_(new_state(nullptr)) {}
  checkpoint_state(checkpoint_state const& other) : state_(new_state(other.state_)) {}
  checkpoint_state& operator=(checkpoint_state other) {
    std::swap(state_, other.state_);
    return *this;
  }
  ~checkpoint_state() { delete_state(state_); }

  template <class Saved>
  void add(std::string const& name, Saved const& saved) {
    add_to_state(*state_, name, saved);
  }
  void save(std::string const& path) const { save_state(*state_, path); }
  void load(std::string const& path) const { load_state(*state_, path); }

 private:
  compiled_state* state_;
};

}  // namespace LOWP_UNIT

#endif

}  // namespace lowp::detail
