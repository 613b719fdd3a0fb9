// SPDX-License-Identifier: Apache-2.0
// The safetensors format (huggingface/safetensors): a length, a JSON header, tensors.
//
//     | 8 bytes: n, little-endian | n bytes: header | data |
//
//     safetensors::file model("model.safetensors");
//     for (auto const& t : model.tensors()) ...
//     auto const w = model.read<bfloat16>(model.at("w"));
#pragma once

#include <lowp/safetensors/file.hpp>
#include <lowp/safetensors/writer.hpp>
