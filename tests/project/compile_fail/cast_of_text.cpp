// SPDX-License-Identifier: Apache-2.0
// Bytes are numbers, characters are not.
// expect-first: does_not_satisfy_cast_input|do_not_satisfy_cast_input
#include <lowp/lowp.hpp>

#include <string>
#include <vector>

#ifdef CONTROL
using bytes = std::vector<unsigned char>;
#else
using bytes = std::string;
#endif

void narrow(const bytes& x, std::vector<lowp::bfloat16>& y) { lowp::cast(x, y); }
