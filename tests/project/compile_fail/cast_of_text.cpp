// SPDX-License-Identifier: Apache-2.0
// Bytes are numbers, characters are not.
// expect-first: 1.*names::in.*not_a_range_of_float
#include <lowp/lowp.hpp>

#include <string>
#include <vector>

#ifdef CONTROL
using bytes = std::vector<unsigned char>;
#else
using bytes = std::string;
#endif

void narrow(const bytes& x, std::vector<lowp::bfloat16>& y) { lowp::cast(x, y); }
