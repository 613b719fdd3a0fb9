// SPDX-License-Identifier: Apache-2.0
// A loss scaler and clipping of lists of tensors, for gradients_test.py to call.
#include <lowp/update.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

std::vector<lowp::named<std::span<float>>> list_of(float** gradients, std::size_t const* sizes,
                                                   std::size_t tensors) {
  std::vector<lowp::named<std::span<float>>> list;
  for (std::size_t i = 0; i < tensors; ++i) list.push_back({"", {gradients[i], sizes[i]}});
  return list;
}

}  // namespace

extern "C" {

lowp::loss_scaler* scaler_new(float scale, double growth, double backoff, std::uint32_t interval) {
  return new lowp::loss_scaler{.scale = scale,
                               .growth_factor = growth,
                               .backoff_factor = backoff,
                               .growth_interval = interval,
                               .minimum = 0};  // GradScaler has none
}
void scaler_delete(lowp::loss_scaler* scaler) { delete scaler; }
float scaler_scale(lowp::loss_scaler const* scaler) { return scaler->scale; }
std::uint32_t scaler_growth_tracker(lowp::loss_scaler const* scaler) {
  return scaler->growth_tracker;
}
bool scaler_unscale(lowp::loss_scaler* scaler, float** gradients, std::size_t const* sizes,
                    std::size_t tensors) {
  lowp::gradient_report report;
  lowp::unscale(list_of(gradients, sizes, tensors), *scaler, report);
  return scaler->found_nonfinite();
}
void scaler_update(lowp::loss_scaler* scaler) { scaler->update(); }

double clip(float** gradients, std::size_t const* sizes, std::size_t tensors, double max_norm) {
  return lowp::clip(list_of(gradients, sizes, tensors), max_norm).norm();
}

}  // extern "C"
