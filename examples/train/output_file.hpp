// SPDX-License-Identifier: Apache-2.0
// Files that appear whole or not at all.
#pragma once

#include <string>
#include <string_view>

/// Says before the work what would fail after it.
/// @param option  how the user names another file
/// @throws problem  `path` cannot be written
void require_writable(std::string const& path, std::string_view option);

/// Writes a neighbour of `path` and renames it. So nobody sees half a file, and a failure leaves an
/// older file as it was. A path that is no regular file (/dev/stdout) is written in place.
/// @throws problem  it cannot be written, or not wholly
void write_whole(std::string const& path, std::string_view contents, std::string_view option);
