// SPDX-License-Identifier: Apache-2.0
// The contents of a checkpoint in the library lowp::compiled. A unit that is linked with it has
// neither files nor JSON to compile. Nothing that both sides see has a unit's name.
#pragma once

#include <lowp/io/checkpoint/saved.hpp>

#if defined(LOWP_COMPILING)
#include <lowp/io/checkpoint/state.hpp>
#endif

namespace lowp::detail {

/// A checkpoint_state, all of whose functions are the library's.
class __attribute__((visibility("default"))) compiled_state {
 public:
  compiled_state();
  compiled_state(compiled_state const& other);
  compiled_state& operator=(compiled_state const& other);
  ~compiled_state();

  void add(std::string const& name, saved_tensor const& t);
  void add(std::string const& name, saved_scalar const& s);
  void save(std::string const& path) const;
  void load(std::string const& path) const;

 private:
  struct contents;
  contents* all_;
};

#if defined(LOWP_COMPILING)

struct compiled_state::contents : checkpoint_state {};

compiled_state::compiled_state() : all_(new contents) {}
compiled_state::compiled_state(compiled_state const& other) : all_(new contents(*other.all_)) {}
compiled_state& compiled_state::operator=(compiled_state const& other) {
  *all_ = *other.all_;
  return *this;
}
compiled_state::~compiled_state() { delete all_; }
void compiled_state::add(std::string const& name, saved_tensor const& t) { all_->add(name, t); }
void compiled_state::add(std::string const& name, saved_scalar const& s) { all_->add(name, s); }
void compiled_state::save(std::string const& path) const { all_->save(path); }
void compiled_state::load(std::string const& path) const { all_->load(path); }

#else

inline namespace LOWP_UNIT {
using checkpoint_state = compiled_state;
}

#endif

}  // namespace lowp::detail
