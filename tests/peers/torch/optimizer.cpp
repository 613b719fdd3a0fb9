// SPDX-License-Identifier: Apache-2.0
// Steps of lowp_torch.AdamW's settings over plain spans, for optimizer_test.py to call.
#include <lowp/storage.hpp>
#include <lowp/update.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace {

using lowp::bfloat16, lowp::float16;

struct call {
  void *p, *g, *m, *v, *extra;
  std::size_t n;
  double lr, weight_decay;
  std::uint64_t seed, step;
  std::uint32_t tensor;
  std::uint64_t stalled;  // out, as are these
  double applied, requested;
};

template <class T>
std::span<T> span_of(void* data, call const& c) {
  return {static_cast<T*>(data), c.n};
}
template <class S, class G, class P>
void step(call& c, P const& p, auto const& rounding) {
  lowp::update_report report;
  lowp::update(p, span_of<G>(c.g, c), span_of<S>(c.m, c), span_of<S>(c.v, c),
               lowp::adamw{.lr = c.lr, .weight_decay = c.weight_decay}, c.step, rounding, report);
  c.stalled = report.stalled;
  c.applied = report.applied.value();
  c.requested = report.requested.value();
}
template <class T>
auto kahan_of(call const& c) {
  return lowp::kahan{span_of<T>(c.p, c), span_of<bfloat16>(c.extra, c)};
}
template <class T>
auto master_of(call const& c) {
  return lowp::master{span_of<float>(c.extra, c), span_of<T>(c.p, c)};
}
lowp::nearest_even nearest(call const&) { return {}; }
lowp::stochastic stochastic(call const& c) { return {c.seed, lowp::stream_of(c.tensor, 0)}; }
lowp::stochastic_fast stochastic_fast(call const& c) {
  return {c.seed, lowp::stream_of(c.tensor, 0)};
}

}  // namespace

extern "C" {

void plain_float32_float32_nearest(call* c) {
  step<float, float>(*c, span_of<float>(c->p, *c), nearest(*c));
}
void plain_float32_bfloat16_stochastic(call* c) {
  step<bfloat16, float>(*c, span_of<float>(c->p, *c), stochastic(*c));
}
void plain_bfloat16_bfloat16_stochastic(call* c) {
  step<bfloat16, bfloat16>(*c, span_of<bfloat16>(c->p, *c), stochastic(*c));
}
void plain_float16_bfloat16_stochastic(call* c) {
  step<bfloat16, float16>(*c, span_of<float16>(c->p, *c), stochastic(*c));
}
void kahan_bfloat16_float32_nearest(call* c) {
  step<float, bfloat16>(*c, kahan_of<bfloat16>(*c), nearest(*c));
}
void kahan_float16_bfloat16_stochastic(call* c) {
  step<bfloat16, float16>(*c, kahan_of<float16>(*c), stochastic(*c));
}
void master_bfloat16_float32_nearest(call* c) {
  step<float, bfloat16>(*c, master_of<bfloat16>(*c), nearest(*c));
}
void master_bfloat16_bfloat16_stochastic_fast(call* c) {
  step<bfloat16, bfloat16>(*c, master_of<bfloat16>(*c), stochastic_fast(*c));
}
void master_float16_bfloat16_stochastic(call* c) {
  step<bfloat16, float16>(*c, master_of<float16>(*c), stochastic(*c));
}

}  // extern "C"
