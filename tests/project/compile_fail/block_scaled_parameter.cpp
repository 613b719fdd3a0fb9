// SPDX-License-Identifier: Apache-2.0
// A block's scale is chosen from all its values; a parameter's report would have to wait for it.
// expect-first: 1.*names::p.*signed_format
#include <lowp/update.hpp>

#include <vector>

void step(std::vector<lowp::float8_e4m3fn>& codes, std::vector<lowp::float8_e8m0fnu>& scales,
          std::vector<float> const& g) {
#ifdef CONTROL
  lowp::update(codes, g, lowp::blocks_of<128>(codes, scales), lowp::sgd{.lr = 1}, 1);
#else
  lowp::update(lowp::blocks_of<128>(codes, scales), g, lowp::sgd{.lr = 1}, 1);
#endif
}
