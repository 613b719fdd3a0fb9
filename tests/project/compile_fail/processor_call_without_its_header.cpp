// SPDX-License-Identifier: Apache-2.0
// A call on the processor where only a header for streams was included: the error says which one.
// expect: include the header of the operation for the processor
#include <lowp/ops/casts.hpp>

#include <vector>

#ifdef CONTROL
#include <lowp/cast.hpp>
#endif

void use(std::vector<float> const& in, std::vector<lowp::bfloat16>& out) { lowp::cast(in, out); }
