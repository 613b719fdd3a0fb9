// SPDX-License-Identifier: Apache-2.0
// The index of a sharded model, as Hugging Face's transformers writes it:
// model.safetensors.index.json.
#pragma once

#include <functional>
#include <string>

/// Calls each(TENSOR, FILE) for every tensor while it reads; FILE is a name beside the index.
/// @throws problem  it is missing, too large, or no index
void read_index(std::string const& path,
                std::function<void(std::string const&, std::string const&)> const& each);
