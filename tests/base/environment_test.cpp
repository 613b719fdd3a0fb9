// SPDX-License-Identifier: Apache-2.0
// No result depends on what the caller left in MXCSR or FPCR, and no call changes it (A1).
// ../project/flags/environment_test.cpp has casts and steps of every format, on every backend.
#include "support/control_register.hpp"
#include "support/support.hpp"

#if defined(LOWP_TEST_CONTROL_REGISTER)
#include <lowp/distributed/wire.hpp>
#include <lowp/io.hpp>
#include <lowp/lowp.hpp>
#include <lowp/quantize.hpp>
#include <lowp/watch.hpp>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using namespace lowp_test;

constexpr std::size_t scalars_seen = 3000;

template <class T>
bool equal(std::vector<T> const& a, std::vector<T> const& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// In every state the results are those of the default one, and the state stays. Nothing but the
// library runs meanwhile.
template <class Results>
void check_states(Results const& fresh) {
  Results expected = fresh;
  expected.run();
  for (control const state : control_states()) {
    Results got = fresh;
    write_control(state);
    got.run();
    control const after = read_control();
    write_control(default_control);
    ASSERT_EQ(after, state) << hex(after, 16) << ' ' << hex(state, 16);
    ASSERT_TRUE(got == expected) << hex(state, 16);
  }
}

class environment : public testing::Test {
 protected:
  void TearDown() override { write_control(default_control); }
};

template <class T>
class environment_of : public environment {};
using some_formats =
    testing::Types<lowp::bfloat16, lowp::float16, lowp::float8_e5m2, lowp::float8_e8m0fnu,
                   lowp::float4_e2m1fn, lowp::implicit<lowp::bfloat16>>;
TYPED_TEST_SUITE(environment_of, some_formats, by_format);

// A8's functions of scalars, and decimal text.
template <class T>
struct scalars {
  std::vector<T> roots = std::vector<T>(scalars_seen), fused = roots, least = roots,
                 largest = roots, next = roots, parsed = roots;
  std::vector<double> shortest = std::vector<double>(scalars_seen);
  std::vector<std::array<char, 32>> text = std::vector<std::array<char, 32>>(scalars_seen);

  __attribute__((noinline)) void run() {
    for (std::size_t i = 0; i < roots.size(); ++i) {
      T const x = of_code<T>(static_cast<std::uint32_t>(i * 23) % code_count<T>);
      T const y = of_code<T>(static_cast<std::uint32_t>(i * i) % code_count<T>);
      // Neighbours of x are what flushing subnormals makes equal to it.
      T const z = of_code<T>(x.bits() ^ 1U);
      roots[i] = sqrt(x);
      fused[i] = fma(x, i % 2 == 0 ? T(1) : z, i % 3 == 0 ? T(0) : y);
      least[i] = fmin(x, i % 2 == 0 ? y : z);
      largest[i] = fmax(x, i % 2 == 0 ? y : z);
      next[i] = nextafter(x, i % 2 == 0 ? y : z);
      shortest[i] = lowp::shortest(x);
      char* const end = to_chars(text[i].data(), text[i].data() + text[i].size(), x).ptr;
      from_chars(text[i].data(), end, parsed[i]);
    }
  }
  bool operator==(scalars const& other) const {
    return equal(roots, other.roots) && equal(fused, other.fused) && equal(least, other.least) &&
           equal(largest, other.largest) && equal(next, other.next) &&
           equal(parsed, other.parsed) && equal(shortest, other.shortest) && text == other.text;
  }
};

TYPED_TEST(environment_of, scalars_does_not_matter) { check_states(scalars<TypeParam>{}); }

// A stream's own arithmetic is the standard library's: what it is given is exact.
struct streams {
  std::string text;
  void run() {
    std::ostringstream out;
    for (std::uint32_t code = 1; code < 0x80; code += 9)
      out << of_code<lowp::bfloat16>(code) << ' ';
    text = out.str();
  }
  bool operator==(streams const&) const = default;
};

TEST_F(environment, of_streams_does_not_matter) {
  streams expected;
  expected.run();
  EXPECT_TRUE(expected.text.starts_with("9.18355e-41 ")) << expected.text;
  for (control const flush : flushes) {
    streams got;
    write_control(default_control | flush);
    got.run();
    write_control(default_control);
    EXPECT_EQ(got.text, expected.text) << hex(flush, 16);
  }
}

// The text of each call, and what it returned or wrote, bit for bit. Arithmetic in the caller's
// environment changes the register, too: most operations are inexact, and leave that flag.
class record {
 public:
  void start() { before_ = read_control(); }
  template <class... T>
  void note(char const* call, T const&... results) {
    calls_.emplace_back(call);
    results_.emplace_back();
    (add(results), ...);
    if (read_control() == before_) return;
    changes_.append("\n").append(call);
    write_control(before_);
  }
  /// Returns the calls that changed the control register.
  [[nodiscard]] std::string const& changes() const { return changes_; }
  [[nodiscard]] std::vector<std::string> const& calls() const { return calls_; }
  /// Returns the calls whose results differ.
  [[nodiscard]] std::string differences(record const& other) const {
    std::string all;
    for (std::size_t i = 0; i < calls_.size(); ++i)
      if (results_[i] != other.results_[i]) all += "\n" + calls_[i];
    return all;
  }

 private:
  template <class T>
  void add(T const& x) {
    if constexpr (requires { x.data(), x.size(); }) {
      static_assert(std::is_trivially_copyable_v<std::ranges::range_value_t<T>>);
      results_.back().append(reinterpret_cast<char const*>(x.data()), x.size() * sizeof(*x.data()));
    } else {
      static_assert(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>);
      results_.back().append(reinterpret_cast<char const*>(&x), sizeof x);
    }
  }
  void add(lowp::sgd const& x) { note_all(x.lr, x.momentum, x.dampening, x.weight_decay); }
  void add(lowp::typical_update const& x) {
    note_all(x.lr, x.direction, x.steps, x.tolerance, x.spread);
  }
  void add(lowp::storage_advice const& x) {
    for (auto const& e : x.estimates)
      note_all(e.stalled, e.lost, e.rare, e.lr_any, e.lr_half, e.lr_all);
    note_all(x.count, x.nonfinite, x.choice);
  }
  void add(lowp::watched_tensor const& x) {
    note_all(x.applied, x.requested, x.stalled, x.count, x.heaviest, x.largest_gap, x.moment_error,
             x.moment_size, x.moment_stalled, x.moment_wished, x.silent_requested);
  }
  void note_all(auto const&... x) { (add(x), ...); }

  control before_ = 0;
  std::string changes_;
  std::vector<std::string> calls_, results_;
};

// A call that returns a result, and one that writes to the first argument.
#define RETURNS(...) seen.note(#__VA_ARGS__, __VA_ARGS__)
#define WRITES(written, ...) ((__VA_ARGS__), seen.note(#__VA_ARGS__, written))

constexpr std::size_t rows = 6, columns = 64, count = rows * columns;

std::vector<float> plain_numbers(unsigned seed, std::size_t size = count) {
  std::mt19937 random(seed);
  std::vector<float> x(size);
  for (std::size_t i = 0; i < size; ++i) {
    auto const bits = static_cast<std::uint32_t>(random());
    x[i] = float_of(i % 16 == 5 ? bits & 0x807fffffU : (bits & 0x81ffffffU) | 0x3e000000U);
  }
  return x;
}

struct half_of_square {
  template <class F>
  F operator()(F const& x) const {
    return lowp::lanes::mul(lowp::lanes::mul(x, x), lowp::lanes::broadcast<F>(0.3f));
  }
};

// Numbers are doubles if a call takes any: the call rounds them to float. `As` makes the types of
// the program of the library's.
template <template <class> class As = std::type_identity_t>
struct every_function {
  using bfloat16 = As<lowp::bfloat16>;
  using float16 = As<lowp::float16>;
  using float8_e4m3fn = As<lowp::float8_e4m3fn>;

  record seen;

  double third = 1.0 / 3, norm = 10.0 / 3, growth = 4.0 / 3, tenth = 0.1, rate = 1e-4, beta = 0.999,
         eps = 1e-6, tiny = 4e-310;
  float subnormal = 1e-40f;
  std::vector<float> x = plain_numbers(1), g = plain_numbers(2), weight = plain_numbers(3, columns),
                     y = std::vector<float>(count), z = y, m = y,
                     v = std::vector<float>(count, 1e-5f), of_rows = std::vector<float>(rows),
                     of_rows_too = of_rows, of_columns = std::vector<float>(columns),
                     of_columns_too = of_columns;
  std::vector<bfloat16> p = std::vector<bfloat16>(count, bfloat16(0.25f)),
                        slow = std::vector<bfloat16>(count, bfloat16(0.01f)),
                        rest = std::vector<bfloat16>(count);
  std::vector<float16> half = std::vector<float16>(count);
  std::vector<float8_e4m3fn> codes = std::vector<float8_e4m3fn>(count);
  std::vector<lowp::float8_e4m3fn> fp8_scales = std::vector<lowp::float8_e4m3fn>(count / 16);
  std::vector<lowp::float8_e8m0fnu> scales = std::vector<lowp::float8_e8m0fnu>(count / 32),
                                    tiles = std::vector<lowp::float8_e8m0fnu>(512);
  std::vector<std::uint16_t> low = std::vector<std::uint16_t>(count);
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(count / 2);
  std::vector<std::byte> message = std::vector<std::byte>(2 * count);
  std::vector<std::int64_t> labels = std::vector<std::int64_t>(rows, 3);
  std::vector<lowp::named<std::span<float>>> const list{{"x", x}, {"g", g}}, updates{{"p", g}};
  std::vector<lowp::named<std::span<bfloat16>>> const model{{"p", p}};

  __attribute__((noinline)) void run() {
    seen.start();
    conversions();
    steps();
    reports();
    rows_of_numbers();
    blocks();
    advice();
    values();
  }

  void conversions() {
    lowp::amax largest;
    WRITES(p, lowp::cast(x, p));
    WRITES(codes, lowp::scaled_cast(x, codes, third, largest));
    WRITES(codes, lowp::block_cast(x, lowp::blocks_of<32>(codes, scales)));
    WRITES(scales, lowp::blocks_of<32>(codes, scales));
    WRITES(rest, lowp::split(x, rest, low));
    WRITES(y, lowp::join(rest, low, y));
    WRITES(p, lowp::resync(lowp::split_master{p, low}));
    WRITES(y, lowp::transform(half_of_square{}, lowp::nearest_even{}, y, x));
    WRITES(half, lowp::scale_by_power_of_two(x, half, -20));
    RETURNS(lowp::clamp_overflow(half).infinite);
    RETURNS(lowp::view(p.data(), p.size()));
  }
  void steps() {
    lowp::adamw const adamw{.lr = tenth};
    lowp::adafactor const factors{.lr = third, .weight_decay = 0.01};
    lowp::update_report report;
    lowp::moment_report moments;
    WRITES(p, lowp::fused_add(p, third, g, lowp::nearest_even{}, report));
    WRITES(p, lowp::update(p, g, m, slow, adamw, 3, {}, moments));
    WRITES(p, lowp::tree_add(model, third, updates));
    WRITES(y, lowp::adafactor_direction(x, of_rows, of_columns, y, columns, factors, 7));
    RETURNS(factors.along(norm, 7, 1000, 7));
    RETURNS(report.applied_ratio());
    RETURNS(moments.second.bias());
    RETURNS(moments.second.stalled_share());

    lowp::stall_watch watch({.window = 7, .least_applied = third, .evidence = 0, .least_steps = 1});
    RETURNS(watch.add("p", p));
    RETURNS(watch.add("x", x));
    RETURNS(watch.add("gap", tiny));
    for (std::size_t i = 1; i < 4; ++i) {
      RETURNS(watch.observe(0, i, third, report).has_value());
      RETURNS(watch.observe(0, i, moments).has_value());
      RETURNS(watch.observe(2, i, third, report).has_value());
    }
    std::vector const one{lowp::sgd_tensor{p, g}};
    std::vector<lowp::update_report> fresh(1);
    WRITES(p, lowp::update(one, lowp::sgd{.lr = third}, 1, fresh));
    RETURNS(watch.observe(one, lowp::sgd{.lr = third}, 1, fresh).size());
    lowp::watched_tensor const& state = watch.tensors()[0];
    RETURNS(state, watch.tensors()[1], watch.tensors()[2], watch.tensors()[3]);
    RETURNS(state.applied_ratio(), state.stalled_share(), state.moment_bias());
    RETURNS(state.direction(), state.freezing_lr(), state.moment_stalled_share());
    RETURNS(lowp::stall_alarm{.tensor = 0, .step = 1, .lr = third, .state = state}.text());
    RETURNS(lowp::moment_alarm{.tensor = 0, .step = 1, .state = state}.text());
    lowp::overflow_watch<lowp::float16> frames({.throws = false});
    RETURNS(frames.add("place"));
    RETURNS(frames.step(1));
    WRITES(frames.text(), frames.forward(0).input(x).output(g));
    WRITES(frames.text(), frames.backward(0).input(g));
    WRITES(frames.text(), frames.update(0, report));
    WRITES(frames.text(), frames.stalled(0, {.tensor = 0, .step = 1, .lr = third, .state = state}));
  }
  void reports() {
    lowp::gradient_report gradients;
    lowp::loss_scaler scaler{.scale = 3, .growth_factor = growth, .growth_interval = 1};
    WRITES(x, lowp::unscale(x, third, gradients));
    WRITES(x, lowp::unscale(list, scaler, gradients));
    RETURNS(gradients.norm(), gradients.largest.value());
    RETURNS(lowp::measure(g).norm());
    WRITES(g, lowp::clip(list, third));
    RETURNS(lowp::clip_factor(norm, third));
    WRITES(scaler.scale, scaler.update());
    RETURNS(scaler.inverse_scale());
    RETURNS(scaler.found_nonfinite());
    RETURNS(std::string(lowp::loss_scaler{.scale = -subnormal}.invalid()));
    RETURNS(lowp::sum(x));
    RETURNS(lowp::mean(x));
    RETURNS(lowp::dot(x, g));
    RETURNS(lowp::norm(x));
    lowp::range_census const census = lowp::census<lowp::float16>(x);
    RETURNS(lowp::census<lowp::float16>(x).max_abs.bits);
    RETURNS(census.mean_square_error());
    RETURNS(text(census));
    RETURNS(lowp::abs_range_of<lowp::float16>(x).max_abs.bits);
    lowp::delayed_scale<lowp::float8_e4m3fn> delayed;
    RETURNS(lowp::delayed_scale<lowp::float8_e4m3fn>().scale);
    WRITES(delayed.scale, delayed.update(gradients.largest));
    RETURNS(lowp::power_of_two_scale<lowp::float8_e4m3fn>(gradients.largest));
    RETURNS(lowp::projection_exponent<lowp::float16>(lowp::amax{lowp::lanes::bits(1e9f)}));
  }
  void rows_of_numbers() {
    WRITES(p, lowp::softmax(x, p, columns));
    WRITES(y, lowp::softmax_backward(p, g, y, columns));
    WRITES(y, lowp::log_softmax(x, y, columns));
    WRITES(z, lowp::log_softmax_backward(y, g, z, columns));
    WRITES(y, lowp::scale_mask_softmax(x, lowp::causal_mask{rows}, y, columns, third));
    WRITES(z, lowp::scale_mask_softmax_backward(y, g, z, columns, third));
    WRITES(p, lowp::softmax_pb_relax(x, p, columns, third));
    WRITES(p, lowp::gelu_tanh(x, p));
    WRITES(y, lowp::gelu_tanh_backward(x, g, y));
    WRITES(p, lowp::gated_gelu_tanh(x, g, p));
    WRITES(p, lowp::gelu(x, p));
    WRITES(y, lowp::silu_backward(x, g, y));
    WRITES(p, lowp::silu(x, p));
    WRITES(y, lowp::gelu_backward(x, g, y));
    WRITES(p, lowp::gated_gelu(x, g, p));
    WRITES(p, lowp::gated_silu(x, g, p));
    WRITES(z, lowp::gated_gelu_backward(x, g, g, y, z));
    WRITES(z, lowp::gated_silu_backward(x, g, g, y, z));
    WRITES(z, lowp::gated_gelu_tanh_backward(x, g, g, y, z));
    WRITES(of_rows, lowp::rms_norm(x, weight, p, columns, eps, of_rows));
    WRITES(of_columns, lowp::rms_norm_backward(x, weight, g, of_rows, y, of_columns, columns));
    WRITES(of_rows, lowp::layer_norm(x, weight, weight, p, columns, eps, of_rows_too, of_rows));
    WRITES(of_columns, lowp::layer_norm_backward(x, weight, g, of_rows_too, of_rows, y, of_columns,
                                                 of_columns_too, columns));
    WRITES(of_columns, lowp::add_rows(g, lowp::added_to{of_columns}, columns));
    WRITES(p, lowp::add_rms_norm(p, x, weight, y, columns, eps, of_rows));
    WRITES(y, lowp::add_layer_norm(p, x, weight, weight, y, columns, eps, of_rows_too, of_rows,
                                   lowp::upward{}));
    WRITES(z,
           lowp::rms_norm_backward(p, weight, g, of_rows, lowp::added_to{z}, of_columns, columns));
    WRITES(y, lowp::gather_rows(x, labels, y, columns));
    WRITES(y, lowp::scatter_add_rows(g, labels, y, columns));
    lowp::sum_report loss;
    WRITES(of_rows,
           lowp::cross_entropy(x, labels, columns, {.label_smoothing = 0.1f}, of_rows, y, loss));
    RETURNS(loss.mean(), lowp::rms_norm_backward_scratch(rows, columns),
            lowp::layer_norm_backward_scratch(rows, columns));
  }
  void blocks() {
    lowp::nvfp4 q{{bytes, count}, fp8_scales};
    lowp::mxfp8<float8_e4m3fn> mx{codes, scales};
    WRITES(bytes, lowp::quantize(x, q, lowp::recipes::te_2_20_nvfp4));
    RETURNS(q.tensor_scale);
    RETURNS(q.codes.subspan(0, 8).size_bytes());
    WRITES(y, lowp::dequantize(q, y));
    WRITES(y, lowp::hadamard(x, y, lowp::hadamard_signs<32>{0x9e3779b9}));
    std::vector<float> products(rows * rows);
    for (auto const how : {lowp::accumulation::exact, lowp::accumulation::in_float})
      WRITES(products, lowp::reference_matmul(mx, mx, products, columns, how));
    WRITES(tiles, lowp::to_scale_tiles(scales, rows, columns / 32, tiles));
    WRITES(scales, lowp::from_scale_tiles(tiles, rows, columns / 32, scales));
    auto const wire = lowp::wire<lowp::bfloat16>(lowp::nearest_even{}, 4.0f);
    auto const blocks = lowp::block_wire<lowp::float8_e4m3fn>();
    WRITES(message, wire.encode(lowp::simd::this_thread{}, x, message.data(), 0));
    WRITES(y, wire.add(lowp::simd::this_thread{}, message.data(), y, false));
    WRITES(message, blocks.encode(lowp::simd::this_thread{}, x, message.data(), 0));
    WRITES(y, blocks.add(lowp::simd::this_thread{}, message.data(), y, false));
    RETURNS(lowp::wire<lowp::bfloat16>(lowp::nearest_even{}, subnormal).words(), wire.words());
    RETURNS(lowp::block_wire<lowp::float8_e4m3fn>().words());
  }
  void advice() {
    lowp::update_report report;
    lowp::fused_add(z, third, g, lowp::nearest_even{}, report);
    RETURNS(lowp::stall_advice(x, {.lr = rate}));
    RETURNS(lowp::update_of(lowp::adamw{.lr = rate, .beta1 = third}));
    RETURNS(lowp::update_of(lowp::adamw{.lr = rate}, report));
    RETURNS(lowp::update_of(x, g, m, v, lowp::adamw{.lr = rate}, 3));
    RETURNS(lowp::stalled_decay(half, beta));
    WRITES(y, lowp::detail::least_updates<lowp::kept_as::bf16>(x, lowp::toward::plus_infinity, y));
  }
  // `scalars` and `conversions` have all codes.
  void values() {
    bfloat16 const a(0.3f), b = of_code<bfloat16>(3);
    RETURNS(lowp::convert<float16>(third), lowp::convert<bfloat16>(tiny));
    RETURNS(sqrt(a), fma(a, a, b), fmin(a, b), fmax(a, b), nextafter(b, a), abs(b), copysign(a, b));
    RETURNS(isnan(b), isinf(b), isfinite(b), isnormal(b), signbit(b), ulp(b), gap_above(b),
            gap_below(b));
    RETURNS(std::hash<bfloat16>()(b), bfloat16::from_bits(b.bits()));
    RETURNS(std::numeric_limits<bfloat16>::max());
    char text[32];
    RETURNS(static_cast<int>(to_chars(text, text + 32, b).ptr - text));
    bfloat16 read;
    WRITES(read, from_chars(text, text + 4, read));
    RETURNS(lowp::stream_of(1, 2), lowp::philox4x32({1, 2, 3, 4}, {5, 6}), lowp::isa());
    RETURNS(lowp::detail::text_of(tiny) + lowp::detail::rough_text_of(subnormal));
    RETURNS(std::string(lowp::detail::watch_number(subnormal)) +
            lowp::detail::percent_of(third).c_str());
  }
};

TEST_F(environment, of_every_function_does_not_matter) {
  every_function<> expected;
  expected.run();
  for (control const state : control_states()) {
    every_function<> got;
    write_control(state);
    got.run();
    write_control(default_control);
    EXPECT_EQ(got.seen.changes(), "");
    EXPECT_EQ(expected.seen.differences(got.seen), "");
    if (HasFailure()) FAIL() << "the control register was " << hex(state, 16);
  }
}

// Returns the functions that a text calls, and the members as ".name".
std::set<std::string> called_in(std::string const& text) {
  static std::regex const call(R"((\.|::)?\b([a-z_][a-z0-9_]*)(<[^;()]*?>)?\()");
  std::set<std::string> names;
  for (std::sregex_iterator i(text.begin(), text.end(), call), end; i != end; ++i)
    names.insert(((*i)[1] == "." ? "." : "") + (*i)[2].str());
  return names;
}

std::string text_of_file(std::filesystem::path const& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Returns the names of the function objects and functions that headers declare, and of all that
// programs call in signatures.cpp.
std::set<std::string> public_functions() {
  static std::regex const object(R"(inline constexpr [^;={}]*?(\w+)\{\};)");
  static std::regex const function(R"(^(?!template|requires)[A-Za-z[][^;=]*?\b(\w+)\()");
  std::filesystem::path const tests = LOWP_TESTS;
  std::set<std::string> names;
  for (auto const& file :
       std::filesystem::recursive_directory_iterator(tests.parent_path() / "include/lowp")) {
    if (file.path().extension() != ".hpp") continue;
    std::string const text = text_of_file(file.path());
    for (std::sregex_iterator i(text.begin(), text.end(), object), end; i != end; ++i)
      names.insert((*i)[1]);
    std::istringstream lines(text);
    bool is_inside = false;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("namespace") || line.starts_with("}  // namespace"))
        is_inside = line.ends_with("functions {");
      if (std::smatch found; is_inside && std::regex_search(line, found, function))
        names.insert(found[1]);
    }
  }
  std::istringstream lines(text_of_file(tests / "project/signatures.cpp"));
  std::string statement;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("IS(")) statement.clear();
    statement += line;
    if (!statement.starts_with("IS(") || !line.ends_with(");")) continue;
    names.merge(called_in(statement.substr(3)));
    statement.clear();
  }
  return names;
}

// Words of the language and types of signatures.cpp; variables of one name; the roles of arguments;
// and functions that compute as the C library does.
std::set<std::string> const no_functions{"array",    "code_type", "declval", "decltype",   "float",
                                         "four",     "hash",      "name",    "sizeof",     "size_t",
                                         "span",     "u32",       "u64",     "vector",     "of",
                                         "optional", "type_of",   "read",    "read_write", "write"},
    of_the_c_library{"exp", "pow", "tanh"};

template <class T>
using implicitly = lowp::implicit<T>;

TEST(every_function, takes_implicit_types_as_the_types_themselves) {
  every_function<> expected;
  every_function<implicitly> got;
  expected.run();
  got.run();
  EXPECT_EQ(expected.seen.differences(got.seen), "");
}

TEST_F(environment, of_every_function_is_tested) {
  every_function<> all;
  all.run();
  std::set<std::string> called(no_functions);
  called.insert(of_the_c_library.begin(), of_the_c_library.end());
  for (std::string const& call : all.seen.calls()) called.merge(called_in(call));
  std::set<std::string> const names = public_functions();
  EXPECT_GT(names.size(), 100U);
  for (std::string const& name : names)
    EXPECT_TRUE(called.contains(name)) << "every_function calls no " << name;
}

TEST_F(environment, of_a_refusal_is_not_changed) {
  std::vector<float> const in(5);
  std::vector<lowp::bfloat16> out(4);
  for (control const state : control_states()) {
    bool refused = false;
    write_control(state);
    try {
      lowp::cast(in, out);
    } catch (std::invalid_argument const&) {
      refused = true;
    }
    control const after = read_control();
    write_control(default_control);
    ASSERT_TRUE(refused);
    ASSERT_EQ(after, state) << hex(state, 16);
  }
}

}  // namespace
#endif
