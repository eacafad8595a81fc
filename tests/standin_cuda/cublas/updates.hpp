#pragma once
// BLAS 2 of cuBLAS: updates of one triangle, in plain loops.

#include "cublas/level2.hpp"

namespace standin::blas {

/// The places of the elements of one triangle, dense or packed.
template <class T>
struct Triangle {
  T* data = nullptr;
  std::int64_t n = 0;
  std::int64_t ld = 0;  ///< 0: packed
  bool lower = false;

  T& operator()(std::int64_t i, std::int64_t j) const {
    if (ld != 0) return data[i + j * ld];
    return lower ? data[i + j * (2 * n - j - 1) / 2] : data[i + j * (j + 1) / 2];
  }
  /// Calls f(i, j) for each element of the triangle.
  template <class F>
  void each(F f) const {
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = lower ? j : 0; i < (lower ? n : j + 1); ++i) f(i, j);
    }
  }
};

// A += alpha x y' [+ alpha' y x']. y is x for updates of rank 1 (y == nullptr).
template <class T, class A>
cublasStatus_t update(const char* name, cublasHandle_t handle, bool hermitian,
                      cublasFillMode_t uplo, std::int64_t n, const A* alpha, const T* x,
                      std::int64_t incx, const T* y, std::int64_t incy, T* a, std::int64_t lda) {
  Call call(name, handle);
  const Scalar<A> s = call.scalar(alpha);
  call.need(lda == 0 || lda >= std::max<std::int64_t>(1, n), "lda >= max(1, n)");
  if (!vectors_ok(call, n, incx, incy) || n == 0) return call.quick();
  const T* px = call.access.in_vector(x, n, incx);
  const T* py = y == nullptr ? nullptr : call.access.in_vector(y, n, incy);
  T* pa = lda == 0 ? call.access.out(a, packed(n)) : call.access.out(a, n, n, lda);
  const Triangle<T> triangle{pa, n, lda, uplo == CUBLAS_FILL_MODE_LOWER};
  return call.submit([=] {
    const auto h = [hermitian](T v) { return hermitian ? conjugate(v) : v; };
    const T scale = T(s.get());
    if (scale == T(0)) return;  // reference BLAS changes nothing, not even the diagonal
    triangle.each([&](std::int64_t i, std::int64_t j) {
      T& element = triangle(i, j);
      const T xi = at(px, i, n, incx);
      const T xj = at(px, j, n, incx);
      if (py == nullptr) {
        element += scale * xi * h(xj);
      } else {
        const T yi = at(py, i, n, incy);
        const T yj = at(py, j, n, incy);
        element += scale * xi * h(yj) + h(scale) * yi * h(xj);
      }
      if (hermitian && i == j) element = T(std::real(element));
    });
  });
}

#define STANDIN_UPDATE1(family, hermitian)                                                   \
  template <class T, class A>                                                                \
  cublasStatus_t family(const char* name, cublasHandle_t handle, cublasFillMode_t uplo,      \
                        std::int64_t n, const A* alpha, const T* x, std::int64_t incx, T* a, \
                        std::int64_t lda) {                                                  \
    return update<T, A>(name, handle, hermitian, uplo, n, alpha, x, incx, nullptr, 1, a,     \
                        std::max<std::int64_t>(lda, 1));                                     \
  }
#define STANDIN_PACKED_UPDATE1(family, hermitian)                                              \
  template <class T, class A>                                                                  \
  cublasStatus_t family(const char* name, cublasHandle_t handle, cublasFillMode_t uplo,        \
                        std::int64_t n, const A* alpha, const T* x, std::int64_t incx, T* a) { \
    return update<T, A>(name, handle, hermitian, uplo, n, alpha, x, incx, nullptr, 1, a, 0);   \
  }
#define STANDIN_UPDATE2(family, hermitian)                                                         \
  template <class T>                                                                               \
  cublasStatus_t family(const char* name, cublasHandle_t handle, cublasFillMode_t uplo,            \
                        std::int64_t n, const T* alpha, const T* x, std::int64_t incx, const T* y, \
                        std::int64_t incy, T* a, std::int64_t lda) {                               \
    return update<T, T>(name, handle, hermitian, uplo, n, alpha, x, incx, y, incy, a,              \
                        std::max<std::int64_t>(lda, 1));                                           \
  }
#define STANDIN_PACKED_UPDATE2(family, hermitian)                                                  \
  template <class T>                                                                               \
  cublasStatus_t family(const char* name, cublasHandle_t handle, cublasFillMode_t uplo,            \
                        std::int64_t n, const T* alpha, const T* x, std::int64_t incx, const T* y, \
                        std::int64_t incy, T* a) {                                                 \
    return update<T, T>(name, handle, hermitian, uplo, n, alpha, x, incx, y, incy, a, 0);          \
  }
STANDIN_UPDATE1(syr, false)
STANDIN_UPDATE1(her, true)
STANDIN_PACKED_UPDATE1(spr, false)
STANDIN_PACKED_UPDATE1(hpr, true)
STANDIN_UPDATE2(syr2, false)
STANDIN_UPDATE2(her2, true)
STANDIN_PACKED_UPDATE2(spr2, false)
STANDIN_PACKED_UPDATE2(hpr2, true)

}  // namespace standin::blas
