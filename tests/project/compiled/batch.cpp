// SPDX-License-Identifier: Apache-2.0
// A row's result has the same bits alone, in a batch of any size and at any place of it.
#include <lowp/lowp.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

namespace {

using namespace lowp;

constexpr std::size_t rows = 67;
int failures = 0;

// Near 1; each row has a magnitude of its own, and every ninth one large and special elements.
template <class T>
std::vector<T> made(std::uint32_t seed, std::size_t columns) {
  std::vector<T> all(rows * columns);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const words = philox4x32({static_cast<std::uint32_t>(i), 0, 0, 0}, {seed, 0});
    auto const row = static_cast<std::uint32_t>(i / columns);
    std::uint32_t const near_one = (words[0] & 0x83ffffffU) + 0x3c000000U + (row % 5 << 23);
    all[i] = convert<T>(std::bit_cast<float>(row % 9 == 8 && i % 31 == 0 ? words[1] : near_one));
  }
  return all;
}
template <class T>
std::vector<T> picked(std::vector<T> const& all, std::size_t columns,
                      std::vector<std::size_t> const& order) {
  std::vector<T> some;
  for (std::size_t const row : order)
    for (std::size_t i = 0; i < columns; ++i) some.push_back(all[row * columns + i]);
  return some;
}

// Says whether call(x, y, out, number of rows) gives a row the same bits in each of these batches.
template <class T>
bool is_invariant(std::size_t columns, auto const& call) {
  std::vector<T> const x = made<T>(1, columns), y = made<T>(2, columns);
  std::vector<std::size_t> all, reversed, every_third;
  for (std::size_t r = 0; r < rows; ++r) {
    all.push_back(r);
    reversed.push_back(rows - 1 - r);
    if (r % 3 == 1) every_third.push_back(r);
  }
  std::vector<T> whole(x.size());
  call(x, y, whole, rows);
  bool is_same = true;
  auto const compare = [&](std::vector<std::size_t> const& order) {
    std::vector<T> out(order.size() * columns);
    call(picked(x, columns, order), picked(y, columns, order), out, order.size());
    std::vector<T> const want = picked(whole, columns, order);
    is_same = is_same && std::memcmp(out.data(), want.data(), out.size() * sizeof(T)) == 0;
  };
  compare(reversed);
  compare(every_third);
  for (std::size_t const r : all) compare({r});
  return is_same;
}

template <class T>
void check(char const* name, std::size_t columns, auto const& call) {
  if (is_invariant<T>(columns, call)) return;
  ++failures;
  std::printf("%s of %zu columns and %zu bytes depends on the batch\n", name, columns, sizeof(T));
}

template <class T>
void check_all(std::size_t n) {
  using range = std::vector<T>;
  range weight = made<T>(3, n), bias = made<T>(4, n);
  weight.resize(n), bias.resize(n);
#define CHECK(name, ...)                                                    \
  check<T>(#name, n,                                                        \
           [&](range const& x, [[maybe_unused]] range const& y, range& out, \
               [[maybe_unused]] std::size_t count) { __VA_ARGS__; })
  CHECK(softmax, softmax(x, out, n));
  CHECK(log_softmax, log_softmax(x, out, n));
  CHECK(scale_mask_softmax, scale_mask_softmax(x, causal_mask{1}, out, n, 0.3f));
  CHECK(softmax_backward, softmax_backward(x, y, out, n));
  CHECK(log_softmax_backward, log_softmax_backward(x, y, out, n));
  CHECK(scale_mask_softmax_backward, scale_mask_softmax_backward(x, y, out, n, 0.3f));
  CHECK(rms_norm, rms_norm(x, weight, out, n, 1e-5f));
  CHECK(layer_norm, layer_norm(x, weight, bias, out, n, 1e-5f));
  CHECK(add_rms_norm, range sum = x; range copy = y;
        add_rms_norm(sum, copy, weight, out, n, 1e-5f));
  CHECK(add_layer_norm, range sum = x; add_layer_norm(sum, y, weight, bias, out, n, 1e-5f));
  CHECK(rms_norm_backward, std::vector<float> rms(count), dw(n);
        rms_norm(x, weight, out, n, 1e-5f, rms); rms_norm_backward(x, weight, y, rms, out, dw, n));
  CHECK(layer_norm_backward, std::vector<float> mean(count), deviation(count), dw(n), db(n);
        layer_norm(x, weight, bias, out, n, 1e-5f, mean, deviation);
        layer_norm_backward(x, weight, y, mean, deviation, out, dw, db, n));
  CHECK(cross_entropy, std::vector<float> losses(count);
        cross_entropy(x, std::vector<int>(count, static_cast<int>(n / 2)), n,
                      {.reduction = loss_reduction::summed}, losses, out));
  CHECK(gather_rows, gather_rows(
                         x,
                         [&] {
                           std::vector<int> ids(count);
                           for (std::size_t r = 0; r < count; ++r) ids[r] = static_cast<int>(r);
                           return ids;
                         }(),
                         out, n));
  CHECK(gelu, gelu(x, out));
  CHECK(gated_silu, gated_silu(x, y, out));
#undef CHECK
}

}  // namespace

int main() {
  for (std::size_t const columns : {1, 2, 37, 64, 1000}) {
    check_all<float>(columns);
    check_all<bfloat16>(columns);
  }
  // A sum over rows depends on all of them, which this test sees.
  auto const sum = [](std::vector<float> const& x, auto const&, std::vector<float>& out,
                      std::size_t count) {
    std::vector<float> bias(x.size() / count);
    add_rows(x, bias, bias.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = bias[i % bias.size()];
  };
  if (is_invariant<float>(37, sum)) ++failures, std::puts("the test sees nothing");
  return failures == 0 ? 0 : 1;
}
