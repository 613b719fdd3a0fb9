// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

/// Something that the user can put right; what() is one line that says how.
struct problem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The user has asked for an end.
struct interruption : std::exception {
  [[nodiscard]] char const* what() const noexcept override { return "interrupted"; }
};
