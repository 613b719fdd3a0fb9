// SPDX-License-Identifier: Apache-2.0
// Steps of lowp_torch's settings over plain spans, for optimizer_test.py to call.
#include <lowp/cast.hpp>
#include <lowp/update.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace {

using lowp::bfloat16, lowp::float16;

struct call {
  void *p, *g, *m, *v, *extra, *m_scales, *v_scales;
  std::size_t n;
  double lr, weight_decay;
  std::uint64_t seed, step;
  std::uint32_t tensor;
  std::uint64_t first;    // the place of the elements; the report adds to that of earlier ones
  std::uint64_t stalled;  // out, as are these
  double applied, requested;
};

template <class T>
std::span<T> span_of(void* data, call const& c) {
  return {static_cast<T*>(data), c.n};
}
/// Calls update(arguments..., rounding, report).
void update(call& c, auto const& rounding, auto&&... arguments) {
  static lowp::update_report report;
  if (c.first == 0) report = {};
  lowp::update(arguments..., rounding, report);
  c.stalled = report.stalled;
  c.applied = report.applied.value();
  c.requested = report.requested.value();
}
template <class G, class P>
void adamw(call& c, P const& p, auto const& m, auto const& v, auto const& rounding) {
  update(c, rounding, p, span_of<G>(c.g, c), m, v,
         lowp::adamw{.lr = c.lr, .weight_decay = c.weight_decay}, c.step);
}
template <class S, class G, class P>
void step(call& c, P const& p, auto const& rounding) {
  adamw<G>(c, p, span_of<S>(c.m, c), span_of<S>(c.v, c), rounding);
}
template <bool IsSigned>
lowp::dynamic_blocks<IsSigned> dynamic(void* codes, void* scales, call const& c) {
  return {span_of<std::uint8_t>(codes, c),
          {static_cast<float*>(scales), lowp::dynamic_blocks<IsSigned>::blocks(c.n)}};
}
template <bool IsSigned>
lowp::companded_blocks<IsSigned> companded(void* codes, void* scales, call const& c) {
  using code = std::conditional_t<IsSigned, std::int8_t, std::uint8_t>;
  return {span_of<code>(codes, c),
          {static_cast<float16*>(scales), lowp::companded_blocks<IsSigned>::blocks(c.n)}};
}
template <class G, class P>
void adamw_dynamic(call& c, P const& p, auto const& rounding) {
  adamw<G>(c, p, dynamic<true>(c.m, c.m_scales, c), dynamic<false>(c.v, c.v_scales, c), rounding);
}
template <class G, class P>
void adamw_companded(call& c, P const& p, auto const& rounding) {
  adamw<G>(c, p, companded<true>(c.m, c.m_scales, c), companded<false>(c.v, c.v_scales, c),
           rounding);
}
template <class G, class P>
void lion(call& c, P const& p, auto const& m, auto const& rounding) {
  update(c, rounding, p, span_of<G>(c.g, c), m,
         lowp::lion{.lr = c.lr, .weight_decay = c.weight_decay}, c.step);
}
template <class G, class P>
void direction(call& c, P const& p, auto const& rounding) {
  update(c, rounding, p, span_of<G>(c.g, c), lowp::sgd{.lr = c.lr, .weight_decay = c.weight_decay},
         c.step);
}
template <class T>
auto kahan_of(call const& c) {
  return lowp::kahan{span_of<T>(c.p, c), span_of<bfloat16>(c.extra, c)};
}
template <class T>
auto master_of(call const& c) {
  return lowp::master{span_of<float>(c.extra, c), span_of<T>(c.p, c)};
}
template <class E, class T>
auto corrected_of(call const& c) {
  return lowp::corrected_master{span_of<T>(c.p, c), span_of<E>(c.extra, c)};
}
lowp::nearest_even nearest(call const&) { return {}; }
lowp::stochastic stochastic(call const& c) {
  return {c.seed, lowp::stream_of(c.tensor, 0), c.first};
}
lowp::stochastic_fast stochastic_fast(call const& c) {
  return {c.seed, lowp::stream_of(c.tensor, 0), c.first};
}

}  // namespace

extern "C" {

void adamw_plain_float32_float32_nearest(call* c) {
  step<float, float>(*c, span_of<float>(c->p, *c), nearest(*c));
}
void adamw_plain_float32_bfloat16_stochastic(call* c) {
  step<bfloat16, float>(*c, span_of<float>(c->p, *c), stochastic(*c));
}
void adamw_plain_bfloat16_bfloat16_stochastic(call* c) {
  step<bfloat16, bfloat16>(*c, span_of<bfloat16>(c->p, *c), stochastic(*c));
}
void adamw_plain_float16_bfloat16_stochastic(call* c) {
  step<bfloat16, float16>(*c, span_of<float16>(c->p, *c), stochastic(*c));
}
void adamw_kahan_bfloat16_float32_nearest(call* c) {
  step<float, bfloat16>(*c, kahan_of<bfloat16>(*c), nearest(*c));
}
void adamw_kahan_float16_bfloat16_stochastic(call* c) {
  step<bfloat16, float16>(*c, kahan_of<float16>(*c), stochastic(*c));
}
void adamw_master_bfloat16_float32_nearest(call* c) {
  step<float, bfloat16>(*c, master_of<bfloat16>(*c), nearest(*c));
}
void adamw_master_bfloat16_bfloat16_stochastic_fast(call* c) {
  step<bfloat16, bfloat16>(*c, master_of<bfloat16>(*c), stochastic_fast(*c));
}
void adamw_master_float16_bfloat16_stochastic(call* c) {
  step<bfloat16, float16>(*c, master_of<float16>(*c), stochastic(*c));
}
void adamw_plain_bfloat16_uint8_stochastic(call* c) {
  adamw_dynamic<bfloat16>(*c, span_of<bfloat16>(c->p, *c), stochastic(*c));
}
void adamw_master_bfloat16_uint8_nearest(call* c) {
  adamw_dynamic<bfloat16>(*c, master_of<bfloat16>(*c), nearest(*c));
}
void adamw_plain_float32_companded_stochastic(call* c) {
  adamw_companded<float>(*c, span_of<float>(c->p, *c), stochastic(*c));
}
void adamw_corrected8_float16_companded_nearest(call* c) {
  adamw_companded<float16>(*c, corrected_of<std::int8_t, float16>(*c), nearest(*c));
}
void adamw_corrected8_bfloat16_bfloat16_stochastic(call* c) {
  step<bfloat16, bfloat16>(*c, corrected_of<std::int8_t, bfloat16>(*c), stochastic(*c));
}
void adamw_corrected16_bfloat16_float32_nearest(call* c) {
  step<float, bfloat16>(*c, corrected_of<std::int16_t, bfloat16>(*c), nearest(*c));
}
void lion_plain_float32_float32_nearest(call* c) {
  lion<float>(*c, span_of<float>(c->p, *c), span_of<float>(c->m, *c), nearest(*c));
}
void lion_plain_bfloat16_uint8_stochastic_fast(call* c) {
  lion<bfloat16>(*c, span_of<bfloat16>(c->p, *c), dynamic<true>(c->m, c->m_scales, *c),
                 stochastic_fast(*c));
}
void lion_corrected16_bfloat16_companded_stochastic_fast(call* c) {
  lion<bfloat16>(*c, corrected_of<std::int16_t, bfloat16>(*c),
                 companded<true>(c->m, c->m_scales, *c), stochastic_fast(*c));
}
void lion_kahan_bfloat16_bfloat16_stochastic(call* c) {
  lion<bfloat16>(*c, kahan_of<bfloat16>(*c), span_of<bfloat16>(c->m, *c), stochastic(*c));
}
void direction_plain_bfloat16_none_stochastic(call* c) {
  direction<bfloat16>(*c, span_of<bfloat16>(c->p, *c), stochastic(*c));
}
void direction_master_bfloat16_none_nearest(call* c) {
  direction<bfloat16>(*c, master_of<bfloat16>(*c), nearest(*c));
}

}  // extern "C"
