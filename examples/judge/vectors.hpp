// SPDX-License-Identifier: Apache-2.0
// Files of inputs and right results in TestFloat's text form.
#pragma once

#include <string>

namespace judge {

/// Writes a file for each format and mode, and a manifest with their SHA-256. The folder is new or
/// empty, and appears whole or not at all.
/// @return a line about it
std::string write_vectors(std::string const& folder);

/// The digest of FIPS 180-4, in hex.
std::string sha256(std::string const& bytes);

}  // namespace judge
