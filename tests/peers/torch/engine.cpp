// SPDX-License-Identifier: Apache-2.0
// The engine of examples/torch beside fused kernels of the same kind: all bits of parameters,
// states, fingerprints and reports, for every kind. The fused ones have the portable backend alone.
// ENGINE_OPTIMIZER is adamw, lion or direction, and ENGINE_ROUNDING the mode of this unit.
#include "fused.hpp"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <tuple>

extern "C" {
void const* lowp_torch_kind(char const* optimizer, char const* element, char const* storage,
                            char const* moment, char const* rounding, char const* gradient);
bool lowp_torch_step_any(void const* kind, void* tensors, std::size_t count, void* settings);
void lowp_torch_resync_any(void const* kind, void* tensors, std::size_t count);
}

namespace {

using lowp::bfloat16, lowp::float16;

int kinds = 0, failures = 0;

std::mt19937_64 source(1);
/// Returns a number like those of a training, and rarely one that is not finite, huge or tiny.
float number(bool is_positive, float scale) {
  constexpr float odd[] = {0, 1e-42f, 3e38f, 65519, __builtin_inff(), -__builtin_nanf(""), 1e-8f};
  if (source() % 64 == 0) {
    float const x = odd[source() % std::size(odd)];
    return !is_positive && source() % 2 ? -x : x;
  }
  float const x = scale * static_cast<float>(std::normal_distribution<double>()(source));
  return is_positive ? x * x : x;
}

using bytes = std::vector<unsigned char>;

/// The arrays of a tensor, as bytes.
struct arrays {
  bytes p, g, m, v, m_scales, v_scales, extra, written;

  tensor of(std::size_t n, std::uint32_t its_number) {
    tensor t{};
    t.p = p.data(), t.g = g.data(), t.m = m.data(), t.v = v.data(), t.extra = extra.data();
    t.m_scales = m_scales.data(), t.v_scales = v_scales.data();
    t.written = reinterpret_cast<std::uint64_t*>(written.data());
    t.n = n, t.name = "a tensor", t.number = its_number, t.checks = 1;
    return t;
  }
  bool operator==(arrays const&) const = default;
};

template <class T>
void fill(bytes& to, std::size_t n, float scale) {
  to.resize(n * sizeof(T));
  for (std::size_t i = 0; i < n; ++i) {
    auto const x = T(number(false, scale));
    std::memcpy(to.data() + i * sizeof(T), &x, sizeof(T));
  }
}

constexpr std::size_t sizes[] = {1, 31, 256, 1023, 1024, 3 * 1024 + 17, shard + 1024 + 299};

bool is_same(report const& a, report const& b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

/// Says which array differs.
void tell(char const* name, arrays const& a, arrays const& b, std::size_t n, int step) {
  std::printf("%s, %zu elements, step %d:%s%s%s%s%s%s\n", name, n, step, a.p != b.p ? " p" : "",
              a.m != b.m ? " m" : "", a.v != b.v ? " v" : "",
              a.m_scales != b.m_scales || a.v_scales != b.v_scales ? " scales" : "",
              a.extra != b.extra ? " extra" : "", a.written != b.written ? " written" : "");
}

/// A fused kind behind pointers: all kinds of a unit share the code around their kernels.
struct any_kind {
  ::layout layout;
  bool has_extra;
  void (*fill_element)(bytes&, std::size_t, float);
  void (*fill_gradient)(bytes&, std::size_t, float);
  void (*checks)(settings const&);
  void (*takes)(tensor const&, std::size_t, std::size_t, settings const&, lowp::update_report*);
  void (*resyncs)(tensor const&, std::size_t, std::size_t);

  bool remembers() const { return has_extra; }
  void check(settings const& s) const { checks(s); }
  void take(tensor const& t, std::size_t first, std::size_t n, settings const& s,
            lowp::update_report* report) const {
    takes(t, first, n, s, report);
  }
  void resync(tensor const& t, std::size_t first, std::size_t n) const { resyncs(t, first, n); }
};
template <class Kind, class Element, class Gradient>
any_kind kind_of() {
  return {Kind::layout, Kind::remembers(), fill<Element>, fill<Gradient>,
          Kind::check,  Kind::take,        Kind::resync};
}

void compare(any_kind const& kind, char const* name, void const* any) {
  ++kinds;
  int failed = failures;
  auto const& width = kind.layout;
  std::vector<arrays> ours, theirs;
  for (std::size_t const n : sizes) {
    arrays a;
    kind.fill_element(a.p, n, 1);
    auto const blocks = [n](widths const& w) { return (n + w.shared - 1) / w.shared; };
    a.m.resize(n * width.m.element), a.v.resize(n * width.v.element);
    a.m_scales.resize(blocks(width.m) * width.m.beside);
    a.v_scales.resize(blocks(width.v) * width.v.beside);
    if (width.m.shared == 256) std::fill(a.m.begin(), a.m.end(), 127);  // the code of 0
    a.extra.resize(n * width.p.beside);
    a.written.resize((n + block - 1) / block * 8);
    ours.push_back(a), theirs.push_back(std::move(a));
  }
  auto const list_of = [](std::vector<arrays>& all) {
    std::vector<tensor> list;
    for (std::size_t i = 0; i < all.size(); ++i)
      list.push_back(all[i].of(sizes[i], static_cast<std::uint32_t>(3 + 1000003 * i)));
    return list;
  };
  for (int step = 1; step <= 4 && failed == failures; ++step) {
    for (std::size_t i = 0; i < ours.size(); ++i) {
      kind.fill_gradient(ours[i].g, sizes[i], step == 2 ? 1e-3f : .1f);
      theirs[i].g = ours[i].g;
      if (step == 3 && sizes[i] > 300) {  // someone else writes parameters
        kind.fill_element(ours[i].p, sizes[i], 1);
        theirs[i].p = ours[i].p;
      }
    }
    auto a = list_of(ours), b = list_of(theirs);
    settings s{};
    s.lr = .01, s.beta1 = .9, s.beta2 = .99, s.eps = 1e-8, s.weight_decay = step % 2 ? .1 : 0;
    s.seed = 12345678901, s.step = static_cast<std::uint64_t>(step == 4 ? 1000 : step);
    s.reports = step != 2;
    settings with = s;
    if (step == 1) {
      lowp_torch_resync_any(any, a.data(), a.size());
      resync_all(kind, b);
    }
    bool const is_done_here = lowp_torch_step_any(any, a.data(), a.size(), &with);
    step_all(kind, b, s);
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!is_done_here || ours[i] != theirs[i] || !is_same(a[i].outcome, b[i].outcome) ||
          a[i].restarted != b[i].restarted) {
        ++failures;
        tell(name, ours[i], theirs[i], sizes[i], step);
        if (!is_done_here) std::printf("  %s\n", with.error);
        auto const& x = a[i].outcome;
        auto const& y = b[i].outcome;
        if (!is_same(x, y))
          std::printf("  reports: %lu %lu %lu %lu %a %a, fused %lu %lu %lu %lu %a %a\n", x.count,
                      x.stalled, x.overflowed, x.nonfinite, x.applied, x.requested, y.count,
                      y.stalled, y.overflowed, y.nonfinite, y.applied, y.requested);
        break;
      }
    with = s;
    with.weight_decay = -1;
    if (lowp_torch_step_any(any, a.data(), a.size(), &with) ||
        std::strstr(with.error, "weight_decay is -1") == nullptr) {
      ++failures;
      std::printf("%s: not refused, but %s\n", name, with.error);
    }
  }
}

template <class T>
constexpr char const* name_of = std::is_same_v<T, float>      ? "float32"
                                : std::is_same_v<T, bfloat16> ? "bfloat16"
                                                              : "float16";

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
using rounding = lowp::ENGINE_ROUNDING;
std::string const rounding_name = rounding::is_stochastic ? TEXT(ENGINE_ROUNDING) : "nearest";
using optimizer = ENGINE_OPTIMIZER;

template <class Storage, class First, class Second, class Gradient = typename Storage::element>
void check(char const* storage, char const* moment) {
  using element = typename Storage::element;
  constexpr bool is_exact = std::is_same_v<element, float> && std::is_same_v<First, plain<float>>;
  if constexpr (!is_exact || !rounding::is_stochastic) {
    std::string name = TEXT(ENGINE_OPTIMIZER);
    void const* const any = lowp_torch_kind(name.c_str(), name_of<element>, storage, moment,
                                            rounding_name.c_str(), name_of<Gradient>);
    name += std::string(" ") + name_of<element> + " " + storage + " " + moment + " " +
            rounding_name + " " + name_of<Gradient>;
    using kind = fused_kind<optimizer, Storage, First, Second, Gradient, rounding>;
    compare(kind_of<kind, element, Gradient>(), name.c_str(), any);
  }
}
template <class Storage, class... Gradient>
void check_moments(char const* storage) {
  if constexpr (optimizer::moments == 0) {
    check<Storage, moments::none<true>, moments::none<false>>(storage, "none");
  } else {
    check<Storage, moments::float32<true>, moments::float32<false>>(storage, "float32");
    check<Storage, moments::bfloat16<true>, moments::bfloat16<false>>(storage, "bfloat16");
    check<Storage, moments::uint8<true>, moments::uint8<false>>(storage, "uint8");
    check<Storage, moments::companded<true>, moments::companded<false>>(storage, "companded");
    (check<Storage, moments::bfloat16<true>, moments::bfloat16<false>, Gradient>(storage,
                                                                                 "bfloat16"),
     ...);
  }
}
template <class T>
void check_storages() {
  check_moments<kahan<T>>("kahan");
  check_moments<master<T>>("master");
  check_moments<corrected8<T>>("corrected8");
  check_moments<corrected16<T>>("corrected16");
}

}  // namespace

int main() {
  check_moments<plain<float>>("plain");
  check_moments<plain<bfloat16>, float, float16>("plain");
  check_moments<plain<float16>>("plain");
  check_storages<bfloat16>();
  check_storages<float16>();
  std::printf("%s, %s: %d kinds, %d differ\n", TEXT(ENGINE_OPTIMIZER), rounding_name.c_str(), kinds,
              failures);
  return failures == 0 && kinds > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
