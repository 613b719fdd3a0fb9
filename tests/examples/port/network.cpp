// SPDX-License-Identifier: Apache-2.0
// A network for spirals as programs for float are written, without a line of lowp.
// ../port_test.cmake changes the line that says what `real` is, and nothing else.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

typedef float real;

namespace {

real const pi = 3.14159265358979;

// A row-major matrix.
class matrix {
 public:
  matrix(std::size_t rows = 0, std::size_t columns = 0, real value = 0.0)
      : rows_(rows), columns_(columns), values_(rows * columns, value) {}

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::size_t size() const { return values_.size(); }
  real& operator()(std::size_t i, std::size_t j) { return values_[i * columns_ + j]; }
  real operator()(std::size_t i, std::size_t j) const { return values_[i * columns_ + j]; }
  real* begin() { return values_.data(); }
  real* end() { return values_.data() + values_.size(); }
  real const* begin() const { return values_.data(); }
  real const* end() const { return values_.data() + values_.size(); }

  void fill(real value) { std::fill(begin(), end(), value); }
  matrix& operator+=(matrix const& other) {
    if (size() != other.size()) throw std::invalid_argument("matrix: sizes differ");
    std::transform(begin(), end(), other.begin(), begin(), std::plus<real>());
    return *this;
  }
  matrix& operator*=(real factor) {
    for (real& x : *this) x *= factor;
    return *this;
  }

 private:
  std::size_t rows_, columns_;
  std::vector<real> values_;
};

matrix transposed(matrix const& a) {
  matrix t(a.columns(), a.rows());
  for (std::size_t i = 0; i < a.rows(); ++i)
    for (std::size_t j = 0; j < a.columns(); ++j) t(j, i) = a(i, j);
  return t;
}

matrix product(matrix const& a, matrix const& b) {
  if (a.columns() != b.rows()) throw std::invalid_argument("product: inner sizes differ");
  matrix c(a.rows(), b.columns());
  for (std::size_t i = 0; i < a.rows(); ++i)
    for (std::size_t j = 0; j < b.columns(); ++j) {
      double sum = 0.0;
      for (std::size_t k = 0; k < a.columns(); ++k) sum += a(i, k) * b(k, j);
      c(i, j) = sum;
    }
  return c;
}

class generator {
 public:
  explicit generator(unsigned seed) : engine_(seed) {}
  real uniform(real low = 0.0, real high = 1.0) {
    return low + (high - low) * std::uniform_real_distribution<double>()(engine_);
  }
  real normal(real deviation = 1.0) {
    return deviation * std::normal_distribution<double>()(engine_);
  }
  std::size_t below(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(engine_);
  }
  std::mt19937& engine() { return engine_; }

 private:
  std::mt19937 engine_;
};

// A parameter, its gradient and the optimizer's memory of it.
struct parameter {
  matrix value, gradient, velocity;
  explicit parameter(matrix const& initial)
      : value(initial),
        gradient(initial.rows(), initial.columns()),
        velocity(initial.rows(), initial.columns()) {}
};

class layer {
 public:
  virtual ~layer() = default;
  virtual matrix forward(matrix const& x) = 0;
  virtual matrix backward(matrix const& dy) = 0;
  virtual std::vector<parameter*> parameters() { return {}; }
};

class dense : public layer {
 public:
  dense(std::size_t in, std::size_t out, generator& random)
      : weight_(initial(in, out, random)), bias_(matrix(1, out, 0.0)) {}

  matrix forward(matrix const& x) override {
    x_ = x;
    matrix y = product(x, weight_.value);
    for (std::size_t i = 0; i < y.rows(); ++i)
      for (std::size_t j = 0; j < y.columns(); ++j) y(i, j) += bias_.value(0, j);
    return y;
  }
  matrix backward(matrix const& dy) override {
    weight_.gradient += product(transposed(x_), dy);
    for (std::size_t j = 0; j < dy.columns(); ++j) {
      double sum = 0;
      for (std::size_t i = 0; i < dy.rows(); ++i) sum += dy(i, j);
      bias_.gradient(0, j) += sum;
    }
    return product(dy, transposed(weight_.value));
  }
  std::vector<parameter*> parameters() override { return {&weight_, &bias_}; }

 private:
  static matrix initial(std::size_t in, std::size_t out, generator& random) {
    matrix w(in, out);
    real const deviation = std::sqrt(2.0 / in);
    for (real& x : w) x = random.normal(deviation);
    return w;
  }
  parameter weight_, bias_;
  matrix x_;
};

// A function of each element, with its derivative by the function's argument and value.
class activation : public layer {
 public:
  typedef std::function<real(real)> function;
  typedef std::function<real(real, real)> derivative;
  activation(function f, derivative df) : f_(std::move(f)), df_(std::move(df)) {}

  matrix forward(matrix const& x) override {
    x_ = x;
    y_ = x;
    for (real& each : y_) each = f_(each);
    return y_;
  }
  matrix backward(matrix const& dy) override {
    matrix dx = dy;
    real const* x = x_.begin();
    real const* y = y_.begin();
    for (real& each : dx) each *= df_(*x++, *y++);
    return dx;
  }

 private:
  function f_;
  derivative df_;
  matrix x_, y_;
};

std::unique_ptr<layer> make_activation(std::string const& name) {
  if (name == "tanh")
    return std::make_unique<activation>([](real x) { return std::tanh(x); },
                                        [](real, real y) { return 1.0 - y * y; });
  if (name == "leaky")
    return std::make_unique<activation>([](real x) { return x > 0 ? x : real(0.01 * x); },
                                        [](real x, real) { return x > 0 ? 1.0 : 0.01; });
  if (name == "logistic")
    return std::make_unique<activation>([](real x) { return 1.0 / (1.0 + std::exp(-x)); },
                                        [](real, real y) { return y * (1 - y); });
  throw std::invalid_argument("make_activation: no activation is called " + name);
}

// Leaves out elements while training.
class dropout : public layer {
 public:
  dropout(real share, generator& random) : share_(share), random_(random) {}
  bool is_training = true;

  matrix forward(matrix const& x) override {
    matrix y = x;
    mask_.assign(x.size(), 1.0);
    if (is_training)
      for (real& m : mask_) m = random_.uniform() < share_ ? 0.0 : 1.0 / (1.0 - share_);
    std::transform(y.begin(), y.end(), mask_.begin(), y.begin(), std::multiplies<real>());
    return y;
  }
  matrix backward(matrix const& dy) override {
    matrix dx = dy;
    std::transform(dx.begin(), dx.end(), mask_.begin(), dx.begin(), std::multiplies<real>());
    return dx;
  }

 private:
  real share_;
  generator& random_;
  std::vector<real> mask_;
};

// The mean cross entropy of softmax; leaves its derivative in `scores`.
real cross_entropy(matrix& scores, std::vector<int> const& labels) {
  double loss = 0.0;
  for (std::size_t i = 0; i < scores.rows(); ++i) {
    real* row = &scores(i, 0);
    real largest = -std::numeric_limits<real>::max();
    for (std::size_t j = 0; j < scores.columns(); ++j) largest = std::max(largest, row[j]);
    std::for_each(row, row + scores.columns(), [&](real& s) { s = std::exp(s - largest); });
    real const sum = std::accumulate(row, row + scores.columns(), 0.0);
    for (std::size_t j = 0; j < scores.columns(); ++j) row[j] /= sum;
    loss -= std::log(row[labels[i]] + 1e-30);
    row[labels[i]] -= 1.0;
  }
  scores *= 1.0 / scores.rows();
  return loss / scores.rows();
}

class optimizer {
 public:
  real rate = 0.1, momentum = 0.9f, decay = 1e-4;

  void step(std::vector<parameter*> const& parameters) {
    for (parameter* p : parameters) {
      real *v = p->velocity.begin(), *w = p->value.begin();
      for (real const g : p->gradient) {
        *v = momentum * *v - rate * (g + decay * *w);
        *w++ += *v++;
      }
      p->gradient.fill(0.0);
    }
  }
};

// The rate of a step: a line up, and a cosine down to a hundredth.
real scheduled(real rate, int step, int steps) {
  int const rise = steps / 20;
  if (step < rise) return rate * (step + 1.0) / rise;
  real const place = (step - rise) / real(steps - rise);
  return rate * (0.01 + 0.99 * 0.5 * (1.0 + std::cos(pi * place)));
}

class network {
 public:
  explicit network(generator& random) : random_(random) {}

  template <class Layer, class... Arguments>
  network& add(Arguments&&... arguments) {
    layers_.push_back(std::make_unique<Layer>(std::forward<Arguments>(arguments)...));
    return *this;
  }
  network& add(std::string const& name) {
    layers_.push_back(make_activation(name));
    return *this;
  }

  matrix predict(matrix x, bool is_training = false) {
    for (auto& each : layers_) {
      if (auto* d = dynamic_cast<dropout*>(each.get())) d->is_training = is_training;
      x = each->forward(x);
    }
    return x;
  }
  real train(matrix const& x, std::vector<int> const& labels, int steps, std::size_t batch) {
    optimizer descent;
    real smooth = 1.0;
    for (int step = 0; step < steps; ++step) {
      matrix some(batch, x.columns());
      std::vector<int> wanted(batch);
      for (std::size_t i = 0; i < batch; ++i) {
        std::size_t const from = random_.below(x.rows());
        std::copy_n(x.begin() + from * x.columns(), x.columns(), &some(i, 0));
        wanted[i] = labels[from];
      }
      matrix dy = predict(some, true);
      smooth = 0.9 * smooth + 0.1f * cross_entropy(dy, wanted);
      std::vector<parameter*> all;
      for (auto each = layers_.rbegin(); each != layers_.rend(); ++each) {
        dy = (*each)->backward(dy);
        for (parameter* p : (*each)->parameters()) all.push_back(p);
      }
      descent.rate = scheduled(0.2, step, steps);
      descent.step(all);
    }
    return smooth;
  }
  real accuracy(matrix const& x, std::vector<int> const& labels) {
    matrix const scores = predict(x);
    int right = 0;
    for (std::size_t i = 0; i < scores.rows(); ++i) {
      real const* row = scores.begin() + i * scores.columns();
      right += std::max_element(row, row + scores.columns()) - row == labels[i];
    }
    return right / real(scores.rows());
  }

 private:
  generator& random_;
  std::vector<std::unique_ptr<layer>> layers_;
};

std::pair<matrix, std::vector<int>> spirals(std::size_t count, int arms, generator& random) {
  matrix x(count, 2);
  std::vector<int> labels(count);
  for (std::size_t i = 0; i < count; ++i) {
    labels[i] = i % arms;
    real const radius = random.uniform(0.1, 1.0f);
    real const angle = 2 * pi * (radius * 0.75 + real(labels[i]) / arms) + random.normal(0.1);
    std::array<real, 2> const point = {radius * std::cos(angle), radius * std::sin(angle)};
    std::copy(point.begin(), point.end(), &x(i, 0));
  }
  return {x, labels};
}

}  // namespace

int main() {
  generator random(1);
  auto const [x, labels] = spirals(600, 3, random);
  auto const [fresh, fresh_labels] = spirals(300, 3, random);
  network net(random);
  net.add<dense>(2, 24, random).add("leaky").add<dropout>(0.05, random);
  net.add<dense>(24, 12, random).add("tanh").add<dense>(12, 3, random);
  real const loss = net.train(x, labels, 1500, 32);
  real const accuracy = net.accuracy(fresh, fresh_labels);
  std::cout << std::setprecision(3) << "bytes " << sizeof(real) << " loss " << loss << " accuracy "
            << accuracy << '\n';
  return accuracy > 0.9 && loss < 0.3 ? EXIT_SUCCESS : EXIT_FAILURE;
}
