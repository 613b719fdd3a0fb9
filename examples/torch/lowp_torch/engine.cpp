// SPDX-License-Identifier: Apache-2.0
// Steps of every kind for optimizer.py, in one library. A step goes block by block through the
// first cache: arrays become float, the optimizer steps floats, floats become arrays. Each of these
// is a function of a table, so their number is a sum, not a product. The bits are those of
// step.cpp.
#include "step.hpp"

#include <lowp/cast.hpp>

#include <string_view>

namespace {

using lowp::bfloat16, lowp::float16;
namespace detail = lowp::detail;
using lowp::simd::access, lowp::simd::operand;

/// Elements of a block in the first cache: whole groups of a report's sums and of scales.
constexpr std::size_t at_once = 1024;
static_assert(at_once % block == 0 && shard % at_once == 0);
using floats = float[at_once];

/// An array of a tensor, and what lies beside it.
struct array {
  void *data, *beside;
};
/// The random bits of a call: an array of tensor t draws its own, by number.
struct draws {
  settings const& s;
  tensor const& t;
  std::uint32_t draw;
};

/// The functions of a storage. Floats are stepped where they lie, and have none.
struct codec {
  char const* name;
  char const* element;
  ::widths widths;
  void (*decode)(float* to, array from, std::size_t first, std::size_t n);
  void (*encode[3])(float const* from, array to, std::size_t first, std::size_t n, draws const&);
};

template <class Storage>
void decode(float* to, array from, std::size_t first, std::size_t n) {
  std::span out(to, n);
  auto in = Storage::of(from.data, from.beside, first, n);
  detail::run(unchecked(), "", detail::make<detail::identity>{}, detail::no_report,
              detail::write("", out), detail::read("", in));
}
template <class Storage, class R>
void encode(float const* from, array to, std::size_t first, std::size_t n, draws const& random) {
  std::span in(from, n);
  auto out = Storage::of(to.data, to.beside, first, n);
  auto role = detail::write("", out, rounding_of<R>(random.s, random.t, first));
  role.draw = random.draw;
  detail::run(unchecked(), "", detail::make<detail::identity>{}, detail::no_report, role,
              detail::read("", in));
}

constexpr char const* roundings[] = {"nearest", "stochastic", "stochastic_fast"};
template <class Storage>
constexpr codec codec_of(char const* name, char const* element) {
  return {name,
          element,
          widths_of<Storage>(),
          decode<Storage>,
          {encode<Storage, lowp::nearest_even>, encode<Storage, lowp::stochastic>,
           encode<Storage, lowp::stochastic_fast>}};
}
constexpr codec floats_of(char const* name, char const* element, ::widths widths) {
  return {name, element, widths, nullptr, {}};
}

constexpr codec storages[] = {floats_of("plain", "float32", {4}),
                              codec_of<plain<bfloat16>>("plain", "bfloat16"),
                              codec_of<plain<float16>>("plain", "float16"),
                              codec_of<kahan<bfloat16>>("kahan", "bfloat16"),
                              codec_of<kahan<float16>>("kahan", "float16"),
                              floats_of("master", "bfloat16", {2, 4}),
                              floats_of("master", "float16", {2, 4}),
                              codec_of<corrected8<bfloat16>>("corrected8", "bfloat16"),
                              codec_of<corrected8<float16>>("corrected8", "float16"),
                              codec_of<corrected16<bfloat16>>("corrected16", "bfloat16"),
                              codec_of<corrected16<float16>>("corrected16", "float16")};

/// First and second moments by name.
struct moment_codecs {
  char const* name;
  codec first, second;
};
constexpr codec no_moment = floats_of("none", "", {});
constexpr codec float_moment = floats_of("float32", "", {4});
constexpr codec bfloat16_moment = codec_of<plain<bfloat16>>("bfloat16", "");
constexpr moment_codecs pairs_of_moments[] = {
    {"none", no_moment, no_moment},
    {"float32", float_moment, float_moment},
    {"bfloat16", bfloat16_moment, bfloat16_moment},
    {"uint8", codec_of<moments::uint8<true>>("uint8", ""),
     codec_of<moments::uint8<false>>("uint8", "")},
    {"companded", codec_of<moments::companded<true>>("companded", ""),
     codec_of<moments::companded<false>>("companded", "")}};

/// An element function that also writes the update.
template <class Element>
struct with_update {
  Element element;

  template <class F, class... Moment>
  LOWP_FN void operator()(F& p, F& update, F const& g, Moment&... moment) const {
    update = element(p, g, moment...);
  }
};

/// The floats of a block.
struct block_of_floats {
  float *p, *update;
  float const* g;
  float *m, *v;
};

/// Steps blocks by an element function, which is made once.
template <class Optimizer, int Moments>
class stepper {
 public:
  stepper(Optimizer const& rates, std::uint64_t step) : function_(made(rates, step)) {}

  void operator()(block_of_floats const& b, std::size_t n) const {
    if constexpr (Moments == 2)
      call(n, b, slot{b.m}, slot{b.v});
    else if constexpr (Moments == 1)
      call(n, b, slot{b.m});
    else
      call(n, b);
  }

 private:
  using element = typename Optimizer::element;
  using slot = operand<float, access::read_write>;

  static element made(Optimizer const& rates, std::uint64_t step) {
    detail::default_environment const environment;
    return detail::make_step<element, Optimizer>{rates, step}();
  }
  void call(std::size_t n, block_of_floats const& b, auto const&... moment) const {
    detail::make<with_update<element>> const make{{function_}};
    unchecked()(lowp::simd::element_call(make, n, detail::no_report, slot{b.p},
                                         operand<float, access::write>{b.update},
                                         operand<float, access::read>{b.g}, moment...));
  }
  element function_;
};

/// Replaces a parameter, for its report.
struct replace {
  template <class F>
  LOWP_FN F operator()(F& old, F const& now, F const& update, F const&) const {
    old = now;
    return update;
  }
};
constexpr floats zeros = {};
bool is_finite(float x) { return lowp::lanes::is_finite(x); }

/// The kind of a call, chosen at run time.
struct composed_kind {
  int optimizer, rounding;
  codec const *p, *copy, *g, *m, *v;  ///< copy: of p, beside a master
  ::layout layout;

  bool remembers() const { return layout.p.beside != 0; }
  array parameter_of(tensor const& t) const {
    return copy != nullptr ? array{t.extra, nullptr} : array{t.p, t.extra};
  }

  /// Calls function(optimizer's rates, constant of its moments).
  void with_optimizer(settings const& s, auto const& function) const {
    if (optimizer == 2)
      function(lowp::adamw{s.lr, s.beta1, s.beta2, s.eps, s.weight_decay},
               std::integral_constant<int, 2>());
    else if (optimizer == 1)
      function(lowp::lion{s.lr, s.beta1, s.beta2, s.weight_decay},
               std::integral_constant<int, 1>());
    else
      function(lowp::sgd{.lr = s.lr, .weight_decay = s.weight_decay},
               std::integral_constant<int, 0>());
  }
  void check(settings const& s) const {
    with_optimizer(s, [&](auto const& rates, int count) {
      auto const wrong = detail::check_optimizer(rates, s.step, count);
      if (!wrong.empty()) unchecked().refuse_if(wrong);
    });
  }

  void take(tensor const& t, std::size_t first, std::size_t n, settings const& s,
            lowp::update_report* report) const {
    with_optimizer(s, [&](auto const& rates, auto count) {
      detail::default_environment const environment;  // that of each call
      stepper<std::remove_cvref_t<decltype(rates)>, count> const step(rates, s.step);
      for (std::size_t i = first; i < first + n; i += at_once)
        take_block(step, t, i, std::min(at_once, first + n - i), s, report);
    });
  }
  void take_block(auto const& step, tensor const& t, std::size_t first, std::size_t n,
                  settings const& s, lowp::update_report* report) const {
    alignas(64) floats p_floats, g_floats, m_floats, v_floats, update, old;
    auto const in_floats = [&](codec const* of, array from, float* buffer) {
      if (of->decode == nullptr)
        return from.data == nullptr ? nullptr : static_cast<float*>(from.data) + first;
      of->decode(buffer, from, first, n);
      return buffer;
    };
    array const of_p = parameter_of(t), of_m{t.m, t.m_scales}, of_v{t.v, t.v_scales};
    block_of_floats const b{in_floats(p, of_p, p_floats), update,
                            in_floats(g, {const_cast<void*>(t.g), nullptr}, g_floats),
                            in_floats(m, of_m, m_floats), in_floats(v, of_v, v_floats)};
    if (report != nullptr) std::copy_n(b.p, n, old);
    step(b, n);
    auto const store = [&](codec const* of, float const* from, array to, std::uint32_t draw) {
      if (of != nullptr && of->decode != nullptr)
        of->encode[rounding](from, to, first, n, {s, t, draw});
    };
    store(p, b.p, of_p, 0);
    store(copy, b.p, {t.p, nullptr}, 0);
    store(m, b.m, of_m, 1);
    store(v, b.v, of_v, 2);
    if (report != nullptr) add_to(*report, t, first, n, b, old);
  }
  /// Adds a block to a report. Its arrays are read again, as they were stored.
  void add_to(lowp::update_report& report, tensor const& t, std::size_t first, std::size_t n,
              block_of_floats const& b, float* old) const {
    alignas(64) floats now, stored, moment;
    float const* of_moments = zeros;
    auto const read = [&](codec const* of, array from, float const* its, float* to) {
      if (of->decode != nullptr)
        of->decode(to, from, first, n);
      else if (its != nullptr)
        std::copy_n(its, n, to);
      return lowp::simd::has_nonfinite_code(to, its != nullptr ? n : 0);
    };
    lowp::update_report clamped;
    if (plain_codec->decode != nullptr && read(plain_codec, {t.p, nullptr}, b.p, now))
      for (std::size_t i = 0; i < n; ++i)
        clamped.overflowed += is_finite(b.p[i]) && !is_finite(now[i]);
    read(p, parameter_of(t), b.p, now);
    for (auto const& [of, from, its] :
         {std::tuple(m, array{t.m, t.m_scales}, b.m), std::tuple(v, array{t.v, t.v_scales}, b.v)}) {
      if (!read(of, from, its, moment)) continue;
      if (of_moments == zeros) std::fill_n(stored, n, 0.0f);
      of_moments = stored;
      for (std::size_t i = 0; i < n; ++i)
        if (!is_finite(moment[i])) stored[i] = moment[i];
    }
    using in = operand<float, access::read>;
    unchecked()(lowp::simd::element_call(detail::make<replace>{}, n, &report,
                                         operand<float, access::read_write>{old}, in{now},
                                         in{b.update}, in{of_moments}));
    report += clamped;
  }

  void resync(tensor const& t, std::size_t first, std::size_t n) const {
    static_assert(block <= at_once);
    alignas(64) floats values;
    settings const none{};
    plain_codec->decode(values, {t.p, nullptr}, first, n);
    if (copy != nullptr) {
      for (float& each : std::span(values, n)) each = lowp::lanes::canonical(each);
      std::copy_n(values, n, static_cast<float*>(t.extra) + first);
    }
    (copy != nullptr ? copy : p)->encode[0](values, {t.p, t.extra}, first, n, {none, t, 0});
  }

  codec const* plain_codec;  ///< of p's codes alone
};

codec const* storage_of(std::string_view name, std::string_view element) {
  for (codec const& each : storages)
    if (each.name == name && each.element == element) return &each;
  return nullptr;
}

}  // namespace

/// Returns a kind, which stays, or null if a name is unknown.
extern "C" void const* lowp_torch_kind(char const* optimizer, char const* element,
                                       char const* storage, char const* moment,
                                       char const* rounding, char const* gradient) {
  composed_kind made{};
  auto const place_of = [](std::string_view name, auto const& names) {
    return static_cast<int>(std::find(std::begin(names), std::end(names), name) -
                            std::begin(names));
  };
  constexpr std::string_view optimizers[] = {"direction", "lion", "adamw"};
  made.optimizer = place_of(optimizer, optimizers);
  made.rounding = place_of(rounding, roundings);
  made.p = storage_of(storage, element);
  made.plain_codec = storage_of("plain", element);
  if (std::string_view(storage) == "master") made.copy = made.plain_codec;
  made.g = storage_of("plain", gradient);
  for (moment_codecs const& each : pairs_of_moments)
    if (std::string_view(moment) == each.name) {
      made.m = made.optimizer > 0 ? &each.first : &no_moment;
      made.v = made.optimizer > 1 ? &each.second : &no_moment;
    }
  if (made.optimizer == 3 || made.rounding == 3 || made.p == nullptr || made.g == nullptr ||
      made.m == nullptr)
    return nullptr;
  made.layout = {made.p->widths, made.g->widths, made.m->widths, made.v->widths};
  return new composed_kind(made);
}

/// Takes a step of `count` tensors, as step.cpp does.
extern "C" bool lowp_torch_step_any(void const* kind, void* tensors, std::size_t count, void* s) {
  auto& with = *static_cast<settings*>(s);
  return is_done(with, [&] {
    step_all(*static_cast<composed_kind const*>(kind),
             std::span(static_cast<tensor*>(tensors), count), with);
  });
}
extern "C" void lowp_torch_resync_any(void const* kind, void* tensors, std::size_t count) {
  resync_all(*static_cast<composed_kind const*>(kind),
             std::span(static_cast<tensor*>(tensors), count));
}
