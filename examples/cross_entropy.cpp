// SPDX-License-Identifier: Apache-2.0
// The loss of two rows of logits, and its derivative in bfloat16.
#include <lowp/lowp.hpp>

#include <cstdio>
#include <vector>

int main() {
  std::vector<float> const logits{2, -1, 0.5f, 9, 9, 9};
  std::vector<std::int64_t> const labels{2, -100};  // the second row is ignored
  std::vector<float> losses(2);
  std::vector<lowp::bfloat16> dx(6);
  lowp::sum_report loss;
  lowp::cross_entropy(logits, labels, 3, {.label_smoothing = 0.1f}, losses, dx, loss);
  std::printf("losses %.4f %.4f\n", losses[0], losses[1]);
  std::printf("mean %.4f of %d\n", loss.mean(), static_cast<int>(loss.count));
  std::printf("derivative %.4f %.4f %.4f\n", float(dx[0]), float(dx[1]), float(dx[2]));
}
