// SPDX-License-Identifier: Apache-2.0
// Unscales, clips and applies the gradients of a whole model. A step that overflows is skipped, and
// names the tensor.
#include <lowp/lowp.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

int main() {
  using lowp::named;
  std::vector<lowp::bfloat16> body(1000, lowp::bfloat16(1.0f)), head(10, lowp::bfloat16(1.0f));
  std::vector<float> body_gradient(1000), head_gradient(10);
  std::vector const weights{named{"body", body}, named{"head", head}};
  std::vector const gradients{named{"body", body_gradient}, named{"head", head_gradient}};

  lowp::loss_scaler scaler;
  for (unsigned step = 1; step <= 3; ++step) {
    // The gradients that backward of loss * scaler.scale would leave.
    std::ranges::fill(body_gradient, 0.1f * scaler.scale);
    std::ranges::fill(head_gradient, (step == 2 ? 1e35f : 0.2f) * scaler.scale);

    lowp::gradient_report report;
    lowp::unscale(gradients, scaler, report);
    if (scaler.found_nonfinite()) {
      std::printf("step %u: skipped, %d of %d gradients of %s overflowed\n", step,
                  static_cast<int>(scaler.overflow.nonfinite),
                  static_cast<int>(scaler.overflow.count), scaler.overflow.tensor.data());
    } else {
      lowp::clip(gradients, 1.0);
      lowp::update_report moved;
      lowp::tree_add(weights, -0.01f, gradients, lowp::stochastic{.seed = 42}.at(step), moved);
      std::printf("step %u: norm %.3f, applied %.2f\n", step, report.norm(), moved.applied_ratio());
    }
    scaler.update();
  }
  std::printf("scale %g\n", scaler.scale + 0.0);
}
