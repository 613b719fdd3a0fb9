// SPDX-License-Identifier: Apache-2.0
// Steps of lowp_torch.AdamW's settings over plain spans, for optimizer_test.py to call.
#include <lowp/storage.hpp>
#include <lowp/update.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace {

using lowp::bfloat16;

struct call {
  void *p, *g, *m, *v, *extra;
  std::size_t n;
  double lr, weight_decay;
  std::uint64_t seed, step;
  std::uint32_t tensor;
};

template <class T>
std::span<T> span_of(void* data, call const& c) {
  return {static_cast<T*>(data), c.n};
}
template <class S, class G, class P>
void step(call const& c, P const& p, auto const& rounding) {
  lowp::update(p, span_of<G>(c.g, c), span_of<S>(c.m, c), span_of<S>(c.v, c),
               lowp::adamw{.lr = c.lr, .weight_decay = c.weight_decay}, c.step, rounding);
}
lowp::stochastic stochastic(call const& c) { return {c.seed, lowp::stream_of(c.tensor, 0)}; }

}  // namespace

extern "C" {

void plain_float32_float32_nearest(call const* c) {
  step<float, float>(*c, span_of<float>(c->p, *c), lowp::nearest_even());
}
void plain_float32_bfloat16_stochastic(call const* c) {
  step<bfloat16, float>(*c, span_of<float>(c->p, *c), stochastic(*c));
}
void plain_bfloat16_bfloat16_stochastic(call const* c) {
  step<bfloat16, bfloat16>(*c, span_of<bfloat16>(c->p, *c), stochastic(*c));
}
void kahan_bfloat16_float32_nearest(call const* c) {
  step<float, bfloat16>(*c,
                        lowp::kahan{span_of<bfloat16>(c->p, *c), span_of<bfloat16>(c->extra, *c)},
                        lowp::nearest_even());
}
void master_bfloat16_float32_nearest(call const* c) {
  step<float, bfloat16>(*c, lowp::master{span_of<float>(c->extra, *c), span_of<bfloat16>(c->p, *c)},
                        lowp::nearest_even());
}
void master_bfloat16_bfloat16_stochastic_fast(call const* c) {
  step<bfloat16, bfloat16>(*c,
                           lowp::master{span_of<float>(c->extra, *c), span_of<bfloat16>(c->p, *c)},
                           lowp::stochastic_fast{c->seed, lowp::stream_of(c->tensor, 0)});
}

}  // extern "C"
