// SPDX-License-Identifier: Apache-2.0
// Makes every call of the lists in simd/compiled.hpp, and prints a fingerprint of what they write.
#include <lowp/lowp.hpp>

#include <cstdint>
#include <cstdio>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "support/backends.hpp"
#include "support/fingerprint.hpp"

namespace {

using namespace lowp;

constexpr std::size_t columns = 59, size = 17 * columns;
fingerprint seen;

template <class T>
std::vector<T> made(std::uint32_t seed) {
  std::vector<T> all(size);
  for (std::size_t i = 0; i < size; ++i) {
    auto const words = philox4x32({static_cast<std::uint32_t>(i), 0, 0, 0}, {seed, 0});
    // Near 1, now and then a special value.
    std::uint32_t const bits = i % 97 == 0 ? words[0] : (words[0] & 0x83ffffffU) + 0x3c000000U;
    all[i] = convert<T>(__builtin_bit_cast(float, bits));
  }
  return all;
}
void note(auto const&... range) { (seen.note(range), ...); }

template <class R>
R mode() {
  if constexpr (R::is_stochastic)
    return R{.seed = 5, .stream = 6, .offset = 7};
  else
    return R{};
}

// Parameters of a step, by the names in the list.
template <class T>
struct plain {
  std::vector<T> p = made<T>(1);
  std::span<T> storage() { return p; }
  void note_it() const { note(p); }
};
struct in_float : plain<float> {};
struct in_bfloat16 : plain<bfloat16> {};
struct in_kahan {
  std::vector<bfloat16> p = made<bfloat16>(1), rest = std::vector<bfloat16>(size);
  auto storage() { return kahan{p, rest}; }
  void note_it() const { note(p, rest); }
};
struct in_master {
  std::vector<float> p = made<float>(1);
  std::vector<bfloat16> copy = std::vector<bfloat16>(size);
  auto storage() { return master{p, copy}; }
  void note_it() const { note(p, copy); }
};

template <class To, class From, class R>
void cast_one() {
  std::vector<To> to(size);
  cast(made<From>(2), to, mode<R>());
  note(to);
}
template <class P, class U, class R>
void add_one() {
  std::vector<P> p = made<P>(1);
  fused_add(p, 0.3f, made<U>(2), mode<R>());
  note(p);
}

template <class Optimizer, class P, class G, class R, class... M>
void step_one() {
  for (bool const is_reported : {false, true}) {
    P parameter;
    update_report report;
    std::tuple<std::vector<M>...> moments{std::vector<M>(size)...};
    std::vector<G> const g = made<G>(3);
    Optimizer optimizer;
    if constexpr (requires { optimizer.lr = 0.01; }) optimizer.lr = 0.01;
    std::apply(
        [&](auto&... m) {
          auto p = parameter.storage();
          for (unsigned step = 1; step < 3; ++step) {
            // Without momentum, a step is the call of another kernel.
            if constexpr (sizeof...(M) == 1 && requires { optimizer.momentum; })
              optimizer.momentum = step == 1 ? 0.9 : 0;
            if (is_reported)
              update(p, g, m..., optimizer, step, mode<R>(), report);
            else
              update(p, g, m..., optimizer, step, mode<R>());
          }
          note(m...);
        },
        moments);
    parameter.note_it();
    note(report);
  }
}

// Tensors of a list take the same kernels.
void step_list() {
  std::vector<bfloat16> p = made<bfloat16>(1), q = made<bfloat16>(2), g = made<bfloat16>(3);
  std::vector<bfloat16> m(size), v(size), n(size), w(size);
  std::vector list{adamw_tensor{p, g, m, v, "p"}, adamw_tensor{q, g, n, w, "q"}};
  update(list, adamw{}, 1, stochastic_fast{.seed = 1});
  note(p, q, m, v, n, w);
}

void activate(auto const& value, auto const& gated, auto const& backward,
              auto const& gated_backward, auto const& make) {
  auto const x = make(9), up = make(10), dy = make(11);
  auto y = x, dx = x, dup = x;
  value(x, y);
  backward(x, dy, dx);
  note(y, dx);
  gated(x, up, y);
  gated_backward(x, up, dy, dx, dup);
  note(y, dx, dup);
}

template <class T>
void softmax_one() {
  std::vector<T> out(size);
  softmax(made<T>(4), out, columns);
  note(out);
  log_softmax(made<T>(4), out, columns);
  note(out);
  log_softmax_backward(out, made<T>(12), out, columns);
  note(out);
  scale_mask_softmax(made<T>(4), causal_mask{17}, out, columns, 0.3f);
  note(out);
  std::vector<T> dx(size);
  softmax_backward(out, made<T>(12), dx, columns);
  note(dx);
  scale_mask_softmax_backward(out, made<T>(12), dx, columns, 0.3f);
  note(dx);
}
template <class T>
void norm_one() {
  std::vector<T> const x = made<T>(5);
  std::vector<T> w = made<T>(6), b = made<T>(7), out(size);
  w.resize(columns);
  b.resize(columns);
  std::vector<float> first(size / columns), second(first);
  rms_norm(x, w, out, columns, 1e-5f);
  note(out);
  rms_norm(x, w, out, columns, 1e-5f, first);
  note(out, first);
  layer_norm(x, w, b, out, columns, 1e-5f);
  note(out);
  layer_norm(x, w, b, out, columns, 1e-5f, first, second);
  note(out, first, second);
  std::vector<T> const dy = made<T>(13);
  std::vector<float> dw(columns), db(columns);
  layer_norm_backward(x, w, dy, first, second, out, dw, db, columns);
  note(out, dw, db);
  rms_norm_backward(x, w, dy, second, out, dw, columns);
  note(out, dw);
  rms_norm_backward(x, w, dy, second, added_to{out}, dw, columns);
  layer_norm_backward(x, w, dy, first, second, added_to{out}, dw, db, columns);
  note(out, dw, db);
}
template <class T>
void sum_rows_one() {
  std::vector<T> table = made<T>(14);
  std::vector<int> ids(size / columns, 3);
  ids.back() = 1;
  std::vector<float> bias(columns);
  add_rows(table, bias, columns);
  scatter_add_rows(made<float>(15), ids, table, columns);
  note(bias, table);
}
template <class Id>
void gather_one() {
  std::vector<bfloat16> out(size);
  gather_rows(made<bfloat16>(14), std::vector<Id>(size / columns, 3), out, columns);
  note(out);
}
template <class T, class Label>
void loss_one() {
  std::vector<T> const x = made<T>(8);
  std::vector<Label> const labels(size / columns, 3);
  std::vector<float> losses(labels.size());
  std::vector<T> dlogits(size);
  cross_entropy(x, labels, columns, {}, losses, dlogits);
  note(losses, dlogits);
}

template <class T>
void measure_one() {
  std::vector<T> g = made<T>(9);
  gradient_report seen_before, seen_after;
  sum_report total;
  sum(g, total);
  unscale(g, 0.5f, seen_before);
  clip(g, 1.0);
  measure(g, seen_after);
  std::vector const extremes{seen_before.largest.value(), seen_after.largest.value(),
                             static_cast<float>(abs_range_of<float>(g).max_abs),
                             static_cast<float>(total.value())};
  note(g, extremes);
}
template <kept_as Way>
void advice_one() {
  std::vector<float> least(size);
  detail::least_updates<Way>(made<float>(10), toward::plus_infinity, least);
  note(least);
}
template <class P, class M>
void request_one() {
  std::vector<P> p = made<P>(1), g = made<P>(3);
  std::vector<M> m = made<M>(16), v(size, M(1));
  storage_advice const advice = stall_advice(p, update_of(p, g, m, v, adamw{}, 9));
  std::vector<float> shares;
  for (stall_estimate const& each : advice.estimates)
    shares.push_back(static_cast<float>(each.stalled + each.lr_half));
  note(shares);
}

}  // namespace

int main() {
#define CAST(part, From, To, R) cast_one<To, From, R>();
#define ADD(part, P, U, R) add_one<P, U, R>();
#define STEP(part, optimizer, P, G, ...) step_one<optimizer, in_##P, G, __VA_ARGS__>();
#define ACTIVATE(name, T) \
  activate(name, gated_##name, name##_backward, gated_##name##_backward, made<T>);
#define SOFTMAX(part, T) softmax_one<T>();
#define NORM(part, T) norm_one<T>();
#define LOSS(part, T, Label) loss_one<T, Label>();
#define MEASURE(part, T) measure_one<T>();
#define ADVICE(part, way) advice_one<kept_as::way>();
#define REQUEST(part, P, M) request_one<P, M>();
#define SUM_ROWS(part, T) sum_rows_one<T>();
#define GATHER(part, Id) gather_one<Id>();
  LOWP_COMPILED_CASTS(CAST)
  LOWP_COMPILED_FUSED_ADDS(ADD)
  LOWP_COMPILED_UPDATES(STEP)
  step_list();
  LOWP_COMPILED_ACTIVATIONS(ACTIVATE)
  LOWP_COMPILED_SOFTMAXES(SOFTMAX)
  LOWP_COMPILED_NORMS(NORM)
  LOWP_COMPILED_CROSS_ENTROPIES(LOSS)
  LOWP_COMPILED_MEASURES(MEASURE)
  LOWP_COMPILED_ADVICE(ADVICE)
  LOWP_COMPILED_REQUESTS(REQUEST)
  LOWP_COMPILED_ROW_SUMS(SUM_ROWS)
  LOWP_COMPILED_GATHERS(GATHER)
  std::printf("%016llx\n", static_cast<unsigned long long>(seen.value()));
}
