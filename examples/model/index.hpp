// SPDX-License-Identifier: Apache-2.0
// The index of a sharded model, as Hugging Face's transformers writes it: model.safetensors.index.json.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

struct model_index {
  std::vector<std::string> files;              ///< names, beside the index
  std::map<std::string, std::size_t> tensors;  ///< the number of each one's file
};

/// @throws problem  it is missing, too large, or no index
model_index read_index(std::string const& path);
