// A client whose byte order differs from its daemon's: every operand of these calls must be swapped
// by the word in both directions. Simple loops in double precision compute the reference results.
//
//   byte_order_client ADDRESS SEED

#include <bit>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "algorithms/offload.hpp"
#include "client/remote_device.hpp"
#include "routines/fft.hpp"

namespace ob::test {
namespace {

using Complex = std::complex<double>;
constexpr unsigned char kPoison = 0xA5;

int failures = 0;

void check(bool good, const std::string& what, double error = 0) {
  if (!good) ++failures;
  std::printf("%s %s", good ? "good" : "BAD ", what.c_str());
  if (error != 0) std::printf(" (error %.2g)", error);
  std::printf("\n");
}

template <class T>
struct Real {
  using Type = T;
};
template <class T>
struct Real<std::complex<T>> {
  using Type = T;
};

// Returns a tolerance far below the effect of one swapped byte and far above n * eps.
template <class T>
constexpr double kTolerance = sizeof(typename Real<T>::Type) == 4 ? 1e-3 : 1e-9;

template <class T>
constexpr bool kComplex = sizeof(T) != sizeof(typename Real<T>::Type);

template <class T>
constexpr const char* kLetter = sizeof(T) == 4    ? "s"
                                : sizeof(T) == 16 ? "z"
                                : kComplex<T>     ? "c"
                                                  : "d";

Complex wide(double v) { return v; }
template <class T>
Complex wide(std::complex<T> v) {
  return {static_cast<double>(v.real()), static_cast<double>(v.imag())};
}

template <class T>
T narrow(Complex v) {
  using R = typename Real<T>::Type;
  if constexpr (kComplex<T>) {
    return {static_cast<R>(v.real()), static_cast<R>(v.imag())};
  } else {
    return static_cast<T>(v.real());
  }
}

// A column-major matrix with padding below each column. All bytes start as poison.
template <class T>
struct Matrix {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t ld;
  std::vector<T> data;

  Matrix(std::int64_t m, std::int64_t n) : rows(m), cols(n), ld(m + 3), data(ld * n) {
    std::memset(static_cast<void*>(data.data()), kPoison, data.size() * sizeof(T));
  }
  T& at(std::int64_t i, std::int64_t j) { return data[static_cast<std::size_t>(i + j * ld)]; }
  const T& at(std::int64_t i, std::int64_t j) const {
    return data[static_cast<std::size_t>(i + j * ld)];
  }
  Complex value(std::int64_t i, std::int64_t j) const { return wide(at(i, j)); }
  bool padding_intact() const {
    for (std::int64_t j = 0; j < cols; ++j) {
      for (std::int64_t i = rows; i < ld; ++i) {
        T poison;
        std::memset(static_cast<void*>(&poison), kPoison, sizeof poison);
        if (std::memcmp(&at(i, j), &poison, sizeof poison) != 0) return false;
      }
    }
    return true;
  }
};

Argument flag(char value) {
  Argument argument;
  argument.flag = value;
  return argument;
}
Argument dim(std::int64_t value) {
  Argument argument;
  argument.dim = value;
  return argument;
}
Argument scalar(Complex value) {
  Argument argument;
  argument.scalar = {value.real(), value.imag()};
  return argument;
}
Argument memory(void* data, std::int64_t ld = 0) {
  Argument argument;
  argument.host = {data, ld};
  return argument;
}
template <class T>
Argument memory(Matrix<T>& matrix) {
  return memory(matrix.data.data(), matrix.ld);
}

class Client {
 public:
  Client(client::RemoteDevice& device, std::uint64_t seed)
      : device_(device), queue_(device.create_queue().value()), random_(seed) {}

  template <class T>
  void all_of() {
    multiply<T>();
    solve<T>();
    factor_triangle<T>();
    eigenvalues<T>();
    largest<T>();
  }

  void memory_of_words();
  template <class T>
  void transforms();

 private:
  double number() { return std::uniform_real_distribution<double>(-1, 1)(random_); }
  std::int64_t size(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  template <class T>
  T element() {
    return narrow<T>({number(), number()});
  }
  template <class T>
  Matrix<T> filled(std::int64_t rows, std::int64_t cols) {
    Matrix<T> matrix(rows, cols);
    for (std::int64_t j = 0; j < cols; ++j) {
      for (std::int64_t i = 0; i < rows; ++i) matrix.at(i, j) = element<T>();
    }
    return matrix;
  }

  bool run(const std::string& name, const std::vector<Argument>& arguments, Code wanted = Code::ok);
  template <class T>
  void multiply();
  template <class T>
  void solve();
  template <class T>
  void factor_triangle();
  template <class T>
  void eigenvalues();
  template <class T>
  void largest();
  Status fft(const FftPlan& plan, void* data);

  client::RemoteDevice& device_;
  QueueId queue_;
  std::mt19937_64 random_;
};

bool Client::run(const std::string& name, const std::vector<Argument>& arguments, Code wanted) {
  const Descriptor* routine = routines::find(name);
  if (routine == nullptr || routine->kinds.size() != arguments.size()) {
    check(false, name + " does not have these arguments");
    return false;
  }
  algorithms::CallTimings timings;
  const Status status =
      algorithms::offload_call({device_, queue_, *routine, arguments.data(), timings});
  if (status.code() != wanted) check(false, name + ": " + std::string(status.message()));
  return status.code() == wanted;
}

// Writes and reads elements of every size, also in triangles.
void Client::memory_of_words() {
  for (const std::uint8_t word : {1, 2, 4, 8}) {
    const std::uint32_t element_bytes = word * (word > 2 ? 2 : 1);
    for (const Triangle triangle : {Triangle::full, Triangle::upper, Triangle::lower_strict}) {
      const std::uint64_t n = 300;
      const Region there{24, element_bytes, triangle, n, n, n + 1, word};
      Region here = there;
      here.offset_bytes = 0;
      std::vector<unsigned char> sent(extent_bytes(here));
      for (auto& byte : sent) byte = static_cast<unsigned char>(random_());
      std::vector<unsigned char> got(sent.size(), kPoison);
      std::vector<unsigned char> expected(sent.size(), kPoison);
      copy(Layout::matrix(expected.data(), here), Layout::matrix(sent.data(), here));
      const BufferId buffer = device_.allocate(24 + extent_bytes(there)).value();
      const bool submitted =
          device_.write(queue_, buffer, there, Layout::matrix(sent.data(), here)).ok() &&
          device_.read(queue_, buffer, there, Layout::matrix(got.data(), here)).ok();
      const bool good = submitted && device_.synchronize(queue_).status.ok() && got == expected;
      check(good, "memory, words of " + std::to_string(word) + " bytes, triangle " +
                      std::to_string(static_cast<int>(triangle)));
      (void)device_.free(buffer);
    }
  }
}

template <class T>
void Client::multiply() {
  const std::int64_t m = size(30, 90);
  const std::int64_t n = size(30, 90);
  const std::int64_t k = size(30, 90);
  Matrix<T> a = filled<T>(k, m);
  Matrix<T> b = filled<T>(k, n);
  Matrix<T> c = filled<T>(m, n);
  const Matrix<T> before = c;
  const T alpha = element<T>();
  const T beta = element<T>();
  const std::string name = std::string(kLetter<T>) + "gemm";
  if (!run(name, {flag('C'), flag('N'), dim(m), dim(n), dim(k), scalar(wide(alpha)), memory(a),
                  memory(b), scalar(wide(beta)), memory(c)})) {
    return;
  }
  double error = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      Complex sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += std::conj(a.value(l, i)) * b.value(l, j);
      const Complex expected = wide(alpha) * sum + wide(beta) * before.value(i, j);
      error = std::max(error, std::abs(c.value(i, j) - expected));
    }
  }
  check(error < kTolerance<T> && c.padding_intact(), name, error);
}

// Computes the pivots of elimination with row exchanges like the reference: one-based.
std::vector<std::int64_t> pivots_of(std::vector<Complex> a, std::int64_t n) {
  std::vector<std::int64_t> pivots;
  const auto at = [&](std::int64_t i, std::int64_t j) -> Complex& {
    return a[static_cast<std::size_t>(i + j * n)];
  };
  const auto magnitude = [](Complex z) { return std::abs(z.real()) + std::abs(z.imag()); };
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t best = k;
    for (std::int64_t i = k + 1; i < n; ++i) {
      if (magnitude(at(i, k)) > magnitude(at(best, k))) best = i;
    }
    pivots.push_back(best + 1);
    for (std::int64_t j = 0; j < n; ++j) std::swap(at(k, j), at(best, j));
    for (std::int64_t i = k + 1; i < n; ++i) {
      const Complex factor = at(i, k) / at(k, k);
      for (std::int64_t j = k; j < n; ++j) at(i, j) -= factor * at(k, j);
    }
  }
  return pivots;
}

template <class T>
void Client::solve() {
  const std::int64_t n = 12;  // larger ones might round to other pivots in single precision
  const std::int64_t nrhs = 5;
  Matrix<T> a = filled<T>(n, n);
  Matrix<T> b = filled<T>(n, nrhs);
  const Matrix<T> a_before = a;
  const Matrix<T> b_before = b;
  std::vector<std::int64_t> ipiv(n, -77);
  std::int64_t info = -77;
  const std::string name = std::string(kLetter<T>) + "gesv";
  const std::vector<Argument> arguments{dim(n),    dim(nrhs),    memory(a), memory(ipiv.data()),
                                        memory(b), memory(&info)};
  if (!run(name, arguments)) return;
  double error = 0;
  for (std::int64_t j = 0; j < nrhs; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      Complex sum = -b_before.value(i, j);
      for (std::int64_t l = 0; l < n; ++l) sum += a_before.value(i, l) * b.value(l, j);
      error = std::max(error, std::abs(sum));
    }
  }
  std::vector<Complex> dense;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) dense.push_back(a_before.value(i, j));
  }
  check(info == 0 && error < 100 * kTolerance<T> && b.padding_intact(), name, error);
  check(ipiv == pivots_of(dense, n), name + "'s pivots");

  Matrix<T> singular = a_before;  // info names the column
  for (std::int64_t i = 0; i < n; ++i) singular.at(i, 0) = T(0);
  info = -77;
  if (run(name,
          {dim(n), dim(nrhs), memory(singular), memory(ipiv.data()), memory(b), memory(&info)})) {
    check(info == 1, name + "'s info of a singular matrix is " + std::to_string(info));
  }
}

// Only one triangle is sent.
template <class T>
void Client::factor_triangle() {
  const std::int64_t n = size(20, 60);
  Matrix<T> a = filled<T>(n, n);
  for (std::int64_t j = 0; j < n; ++j) a.at(j, j) = T(static_cast<typename Real<T>::Type>(2 * n));
  const Matrix<T> before = a;
  std::int64_t info = -77;
  const std::string name = std::string(kLetter<T>) + "potrf";
  if (!run(name, {flag('L'), dim(n), memory(a), memory(&info)})) return;
  double error = 0;
  bool upper_intact = true;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (i < j) {
        upper_intact = upper_intact && a.at(i, j) == before.at(i, j);
        continue;
      }
      Complex sum = 0;
      for (std::int64_t l = 0; l <= j; ++l) sum += a.value(i, l) * std::conj(a.value(j, l));
      error = std::max(error, std::abs(sum - before.value(i, j)));
    }
  }
  check(info == 0 && error < 100 * kTolerance<T> && upper_intact && a.padding_intact(), name,
        error);
}

// Tests real results of complex routines: their sum is the trace, the sum of their squares the
// norm.
template <class T>
void Client::eigenvalues() {
  const std::int64_t n = size(20, 40);
  Matrix<T> a = filled<T>(n, n);
  double trace = 0;
  double norm = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    a.at(j, j) = narrow<T>(a.value(j, j).real());
    trace += a.value(j, j).real();
    norm += std::norm(a.value(j, j));
    for (std::int64_t i = 0; i < j; ++i) norm += 2 * std::norm(a.value(i, j));
  }
  std::vector<typename Real<T>::Type> w(n, -77);
  std::int64_t info = -77;
  const std::string name = std::string(kLetter<T>) + (kComplex<T> ? "heev" : "syev");
  if (!run(name, {flag('N'), flag('U'), dim(n), memory(a), memory(w.data()), memory(&info)})) {
    return;
  }
  double error = 0;
  double sum = 0;
  double squares = 0;
  for (const auto value : w) {
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  error = std::abs(sum - trace) + std::abs(squares - norm);
  check(info == 0 && error < 100 * kTolerance<T>, name, error);
}

// Tests the value of a function, also an integer of the same size as the elements.
template <class T>
void Client::largest() {
  std::vector<T> x(50);
  for (T& value : x) value = element<T>();
  const std::int64_t at = size(0, 49);
  x[static_cast<std::size_t>(at)] = T(17);
  std::int64_t result = -77;
  const std::string name = "i" + std::string(kLetter<T>) + "amax";
  if (!run(name, {dim(50), memory(x.data(), 1), memory(&result)})) return;
  check(result == at + 1, name + " is " + std::to_string(result));
}

Status Client::fft(const FftPlan& plan, void* data) {
  OB_ASSIGN_OR_RETURN(const PlanId id, device_.plan_for(plan));
  algorithms::CallTimings timings;
  return algorithms::offload_planned_fft(device_, queue_,
                                         {id, plan, Layout::bytes(data, input_bytes(plan)),
                                          Layout::bytes(data, output_bytes(plan)), true},
                                         timings);
}

std::vector<Complex> naive_dft(const std::vector<Complex>& in) {
  const std::size_t n = in.size();
  std::vector<Complex> out(n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(i * k % n);
      out[k] += in[i] * std::polar(1.0, angle / static_cast<double>(n));
    }
  }
  return out;
}

template <class T>
void Client::transforms() {
  const auto n = static_cast<std::size_t>(size(60, 200));
  FftPlan plan;
  plan.precision = sizeof(T) == 4 ? Precision::c : Precision::z;
  plan.rank = 1;
  plan.n[0] = n;
  const std::string kind = sizeof(T) == 4 ? "single" : "double";
  const auto difference = [&](const std::vector<std::complex<T>>& got, std::size_t count,
                              const std::vector<Complex>& in) {
    const std::vector<Complex> expected = naive_dft(in);
    double error = 0;
    for (std::size_t k = 0; k < count; ++k) {
      error = std::max(error, std::abs(wide(got[k]) - expected[k]));
    }
    return error;
  };
  std::vector<std::complex<T>> data(n);
  for (auto& value : data) value = element<std::complex<T>>();
  std::vector<Complex> in;
  for (const auto value : data) in.push_back(wide(value));
  Status status = fft(plan, data.data());
  double error = difference(data, n, in);
  check(status.ok() && error < kTolerance<T>, "c2c " + kind + " " + std::string(status.message()),
        error);

  plan.kind = FftKind::r2c;
  std::vector<std::complex<T>> half(n / 2 + 1);
  in.clear();
  for (std::size_t i = 0; i < n; ++i) {
    const T value = element<T>();
    std::memcpy(reinterpret_cast<char*>(half.data()) + i * sizeof(T), &value, sizeof value);
    in.push_back(wide(static_cast<double>(value)));
  }
  status = fft(plan, half.data());
  error = difference(half, n / 2 + 1, in);
  check(status.ok() && error < kTolerance<T>, "r2c " + kind + " " + std::string(status.message()),
        error);
}

int run(const std::string& address, std::uint64_t seed) {
  client::Timeouts timeouts;
  timeouts.connect_ms = 30000;  // an emulated processor is slow
  auto device = client::RemoteDevice::open(address, {.timeouts = timeouts});
  if (!device.ok()) {
    std::printf("BAD  %s\n", std::string(device.status().message()).c_str());
    return 1;
  }
  std::printf("this side is %s-endian, the other %s; seed %llu\n",
              std::endian::native == std::endian::big ? "big" : "little",
              (*device)->connection().welcome().big_endian != 0 ? "big" : "little",
              static_cast<unsigned long long>(seed));
  Client client(**device, seed);
  client.memory_of_words();
  client.all_of<float>();
  client.all_of<double>();
  client.all_of<std::complex<float>>();
  client.all_of<std::complex<double>>();
  client.transforms<float>();
  client.transforms<double>();
  std::printf("%s: %d failures\n", failures == 0 ? "passed" : "FAILED", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ob::test

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: byte_order_client ADDRESS SEED\n");
    return 2;
  }
  return ob::test::run(argv[1], std::strtoull(argv[2], nullptr, 10));
}
