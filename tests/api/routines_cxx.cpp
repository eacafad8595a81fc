// The emitted overloads of outboard/device_routines.hpp in C++17: all of them compile, and those
// that are called here compute, in each precision. Numbers are small integers: results are exact.
#include <outboard/device_routines.h>
#include <outboard/device_routines.hpp>

#include <cstdio>
#include <cstdlib>

namespace {

using outboard::Matrix;
using outboard::Vector;

template <class T>
void expect(const outboard::Queue& queue, const Matrix<T>& from, const std::vector<T>& expected,
            const char* what) {
  std::vector<T> found(expected.size(), T(-99));
  queue.read(found.data(), from, OB_WAIT);
  if (found == expected) return;
  std::fprintf(stderr, "%s of elements of %zu bytes is wrong\n", what, sizeof(T));
  std::exit(1);
}

template <class T>
void products(const outboard::Device& device, const outboard::Queue& queue, T alpha) {
  const std::vector<T> a{1, 2, 3, 4, 5, 6};  // 2 x 3
  const std::vector<T> ones(6, T(1));
  const Matrix<T> on_a(device, 2, 3), on_b(device, 3, 2), on_c(device, 2, 2);
  queue.write(on_a, a.data(), OB_CAPTURE);
  queue.write(on_b, ones.data(), OB_CAPTURE);
  queue.fill(on_c, T(1));
  outboard::gemm(queue, 'N', 'N', 2, 2, 3, alpha, on_a, on_b, 2, on_c);
  const T first = T(9) * alpha + T(2), second = T(12) * alpha + T(2);
  expect<T>(queue, on_c, {first, second, first, second}, "gemm");
  // A block of a matrix has the leading dimension of the matrix.
  outboard::gemm(queue, 'N', 'N', 2, 2, 2, 1, on_a.block(0, 1, 2, 2), on_b.block(0, 0, 2, 2), 0,
                 on_c);
  expect<T>(queue, on_c, {8, 10, 8, 10}, "gemm of blocks");
  const Vector<T> x(device, 6), y(device, 3);
  queue.write(x, a.data(), OB_CAPTURE);
  queue.fill(y, T(10));
  outboard::axpy(queue, 3, alpha, x, 2, y, 1);
  expect<T>(queue, y, {T(10) + alpha, T(10) + T(3) * alpha, T(10) + T(5) * alpha}, "axpy");
}

template <class T>
void solve(const outboard::Device& device, const outboard::Queue& queue) {
  const std::vector<T> a{0, 1, 2, 3}, b{4, 7};  // 2 y = 4, x + 3 y = 7
  const Matrix<T> on_a(device, 2, 2);
  const Vector<T> on_b(device, 2);
  const Vector<std::int64_t> pivots(device, 2), info(device, 1);
  queue.write(on_a, a.data(), OB_CAPTURE);
  queue.write(on_b, b.data(), OB_CAPTURE);
  queue.fill(pivots, std::int64_t{-1});
  queue.fill(info, std::int64_t{-1});
  outboard::gesv(queue, on_a, pivots, on_b, info);  // the dimensions follow from the shapes
  expect<T>(queue, on_b, {1, 2}, "gesv");
  expect<std::int64_t>(queue, pivots, {2, 2}, "the pivots of gesv");
  expect<std::int64_t>(queue, info, {0}, "the info of gesv");
}

// Overloads whose dimensions follow from the shapes, which flags may exchange.
template <class T>
void shapes(const outboard::Device& device, const outboard::Queue& queue) {
  const Matrix<T> a(device, 2, 3), plain(device, 2, 2), flipped(device, 3, 3);
  const std::vector<T> numbers{1, 2, 3, 4, 5, 6};
  queue.write(a, numbers.data(), OB_CAPTURE);
  queue.fill(plain, T(7));
  queue.fill(flipped, T(7));
  outboard::syrk(queue, 'L', 'N', 1, a, 0, plain);
  expect<T>(queue, plain, {35, 44, 7, 56}, "syrk");
  outboard::syrk(queue, 'u', 't', 1, a, 0, flipped);
  expect<T>(queue, flipped, {5, 7, 7, 11, 25, 7, 17, 39, 61}, "syrk, transposed");
  outboard::symm(queue, 'R', 'U', 1, flipped, a, 0, Matrix<T>(device, 2, 3));
  bool refused = false;
  try {
    outboard::syrk(queue, 'L', 'T', 1, a, 0, plain);
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  if (refused) return;
  std::fprintf(stderr, "a shape that does not fit was accepted\n");
  std::exit(1);
}

// Routines whose operands have several types, and those whose names differ between precisions.
void others(const outboard::Device& device, const outboard::Queue& queue) {
  const std::vector<std::complex<double>> numbers{{3, 4}, {0, 0}};
  const Vector<std::complex<double>> x(device, 2);
  const Vector<double> length(device, 1);
  queue.write(x, numbers.data(), OB_CAPTURE);
  outboard::nrm2(queue, 2, x, 1, length);
  expect<double>(queue, length, {5}, "nrm2");
  const Matrix<std::complex<float>> c(device, 1, 1);
  const Matrix<std::complex<float>> a(device, 1, 2);
  queue.fill(a, {1, 2});
  outboard::herk(queue, 'U', 'N', 1, 2, 1, a, 0, c);
  expect<std::complex<float>>(queue, c, {{10, 0}}, "herk");
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const outboard::Device device(count > 1 ? arguments[1] : "");
    const outboard::Queue queue = device.queue();
    products<float>(device, queue, 3);
    products<double>(device, queue, 3);
    products<std::complex<float>>(device, queue, {0, 1});
    products<std::complex<double>>(device, queue, {2, 1});
    shapes<float>(device, queue);
    shapes<double>(device, queue);
    shapes<std::complex<float>>(device, queue);
    shapes<std::complex<double>>(device, queue);
    solve<float>(device, queue);
    solve<double>(device, queue);
    solve<std::complex<float>>(device, queue);
    solve<std::complex<double>>(device, queue);
    others(device, queue);
    queue.synchronize();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
