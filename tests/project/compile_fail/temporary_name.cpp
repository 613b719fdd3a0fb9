// SPDX-License-Identifier: Apache-2.0
// A list views its names. This one would die with the full expression.
// expect: the_name_is_a_temporary
#include <lowp/fused_add.hpp>

#include <string>
#include <vector>

void name(std::vector<float>& x, std::string const& layer) {
#ifdef CONTROL
  std::string const weight = layer + ".weight";
  lowp::named const tensor{weight, x};
#else
  lowp::named const tensor{layer + ".weight", x};
#endif
  static_cast<void>(tensor);
}
