#pragma once
// BLAS 2 of cuBLAS, over OpenBLAS.

#include <algorithm>

#include "cublas/call.hpp"
#include "cublas/flags.hpp"
#include "cublas/level1.hpp"

namespace standin::blas {

// Returns the elements of a packed triangle, which is checked as a vector.
inline std::int64_t packed(std::int64_t n) { return n * (n + 1) / 2; }

// Checks that all functions of level 2 share: OpenBLAS requires these sizes.
inline bool vectors_ok(Call& call, std::int64_t n, std::int64_t incx, std::int64_t incy = 1) {
  call.need(n >= 0, "n >= 0");
  call.need(incx != 0 && incy != 0, "increments other than 0");
  (void)call.size(n);
  return call.good();
}

template <class T>
cublasStatus_t gemv(const char* name, cublasHandle_t handle, cublasOperation_t op, std::int64_t m,
                    std::int64_t n, const T* alpha, const T* a, std::int64_t lda, const T* x,
                    std::int64_t incx, const T* beta, T* y, std::int64_t incy) {
  Call call(name, handle);
  const Scalar<T> s = call.scalar(alpha);
  const Scalar<T> t = call.scalar(beta);
  call.need(m >= 0 && n >= 0 && lda >= std::max<std::int64_t>(1, m), "lda >= max(1, m)");
  if (!vectors_ok(call, std::max(m, n), incx, incy) || m == 0 || n == 0) return call.quick();
  const T* pa = call.access.in(a, m, n, lda);
  const T* px = call.access.in_vector(x, op == CUBLAS_OP_N ? n : m, incx);
  T* py = call.access.out_vector(y, op == CUBLAS_OP_N ? m : n, incy);
  return call.submit([=] {
    fortran(fortran_symbol<T>("gemv_"), letter(op), int(m), int(n), s.get(), pa, int(lda), px,
            int(incx), t.get(), py, int(incy));
  });
}

template <class T>
cublasStatus_t gbmv(const char* name, cublasHandle_t handle, cublasOperation_t op, std::int64_t m,
                    std::int64_t n, std::int64_t kl, std::int64_t ku, const T* alpha, const T* a,
                    std::int64_t lda, const T* x, std::int64_t incx, const T* beta, T* y,
                    std::int64_t incy) {
  Call call(name, handle);
  const Scalar<T> s = call.scalar(alpha);
  const Scalar<T> t = call.scalar(beta);
  call.need(kl >= 0 && ku >= 0 && lda >= kl + ku + 1, "lda >= kl + ku + 1");
  if (!vectors_ok(call, std::max(m, n), incx, incy) || m == 0 || n == 0) return call.quick();
  const T* pa = call.access.in(a, kl + ku + 1, n, lda);
  const T* px = call.access.in_vector(x, op == CUBLAS_OP_N ? n : m, incx);
  T* py = call.access.out_vector(y, op == CUBLAS_OP_N ? m : n, incy);
  return call.submit([=] {
    fortran(fortran_symbol<T>("gbmv_"), letter(op), int(m), int(n), int(kl), int(ku), s.get(), pa,
            int(lda), px, int(incx), t.get(), py, int(incy));
  });
}

// y := alpha A x + beta y for one triangle of A: dense (k < 0), band of width k, packed (lda = 0).
template <class T>
cublasStatus_t symmetric_mv(const char* name, cublasHandle_t handle, const char* stem,
                            cublasFillMode_t uplo, std::int64_t n, std::int64_t k, const T* alpha,
                            const T* a, std::int64_t lda, const T* x, std::int64_t incx,
                            const T* beta, T* y, std::int64_t incy) {
  Call call(name, handle);
  const Scalar<T> s = call.scalar(alpha);
  const Scalar<T> t = call.scalar(beta);
  const std::int64_t rows = k < 0 ? n : k + 1;
  call.need(lda == 0 || lda >= std::max<std::int64_t>(1, rows), "a leading dimension large enough");
  if (!vectors_ok(call, n, incx, incy) || n == 0) return call.quick();
  const T* pa = lda == 0 ? call.access.in(a, packed(n)) : call.access.in(a, rows, n, lda);
  const T* px = call.access.in_vector(x, n, incx);
  T* py = call.access.out_vector(y, n, incy);
  return call.submit([=] {
    void* f = fortran_symbol<T>(stem);
    if (lda == 0) {
      fortran(f, letter(uplo), int(n), s.get(), pa, px, int(incx), t.get(), py, int(incy));
    } else if (k < 0) {
      fortran(f, letter(uplo), int(n), s.get(), pa, int(lda), px, int(incx), t.get(), py,
              int(incy));
    } else {
      fortran(f, letter(uplo), int(n), int(k), s.get(), pa, int(lda), px, int(incx), t.get(), py,
              int(incy));
    }
  });
}

#define STANDIN_DENSE_MV(family)                                                                  \
  template <class T>                                                                              \
  cublasStatus_t family(const char* name, cublasHandle_t handle, cublasFillMode_t uplo,           \
                        std::int64_t n, const T* alpha, const T* a, std::int64_t lda, const T* x, \
                        std::int64_t incx, const T* beta, T* y, std::int64_t incy) {              \
    return symmetric_mv(name, handle, #family "_", uplo, n, -1, alpha, a,                         \
                        std::max<std::int64_t>(lda, 1), x, incx, beta, y, incy);                  \
  }
#define STANDIN_BAND_MV(family)                                                               \
  template <class T>                                                                          \
  cublasStatus_t family(const char* name, cublasHandle_t handle, cublasFillMode_t uplo,       \
                        std::int64_t n, std::int64_t k, const T* alpha, const T* a,           \
                        std::int64_t lda, const T* x, std::int64_t incx, const T* beta, T* y, \
                        std::int64_t incy) {                                                  \
    return symmetric_mv(name, handle, #family "_", uplo, n, k, alpha, a,                      \
                        std::max<std::int64_t>(lda, 1), x, incx, beta, y, incy);              \
  }
#define STANDIN_PACKED_MV(family)                                                                  \
  template <class T>                                                                               \
  cublasStatus_t family(const char* name, cublasHandle_t handle, cublasFillMode_t uplo,            \
                        std::int64_t n, const T* alpha, const T* a, const T* x, std::int64_t incx, \
                        const T* beta, T* y, std::int64_t incy) {                                  \
    return symmetric_mv(name, handle, #family "_", uplo, n, -1, alpha, a, 0, x, incx, beta, y,     \
                        incy);                                                                     \
  }
STANDIN_DENSE_MV(symv)
STANDIN_DENSE_MV(hemv)
STANDIN_BAND_MV(sbmv)
STANDIN_BAND_MV(hbmv)
STANDIN_PACKED_MV(spmv)
STANDIN_PACKED_MV(hpmv)

// x := op(A) x or op(A)^-1 x for a triangle: dense (k < 0), band of width k, packed (lda = 0).
template <class T>
cublasStatus_t triangular(const char* name, cublasHandle_t handle, const char* stem,
                          cublasFillMode_t uplo, cublasOperation_t op, cublasDiagType_t diag,
                          std::int64_t n, std::int64_t k, const T* a, std::int64_t lda, T* x,
                          std::int64_t incx) {
  Call call(name, handle);
  const std::int64_t rows = k < 0 ? n : k + 1;
  call.need(lda == 0 || lda >= std::max<std::int64_t>(1, rows), "a leading dimension large enough");
  if (!vectors_ok(call, n, incx) || n == 0) return call.quick();
  const T* pa = lda == 0 ? call.access.in(a, packed(n)) : call.access.in(a, rows, n, lda);
  T* px = call.access.out_vector(x, n, incx);
  return call.submit([=] {
    void* f = fortran_symbol<T>(stem);
    const char u = letter(uplo);
    const char t = letter(op);
    const char d = letter(diag);
    if (lda == 0) {
      fortran(f, u, t, d, int(n), pa, px, int(incx));
    } else if (k < 0) {
      fortran(f, u, t, d, int(n), pa, int(lda), px, int(incx));
    } else {
      fortran(f, u, t, d, int(n), int(k), pa, int(lda), px, int(incx));
    }
  });
}

#define STANDIN_DENSE_TRIANGLE(family)                                                           \
  template <class T>                                                                             \
  cublasStatus_t family(const char* name, cublasHandle_t handle, cublasFillMode_t uplo,          \
                        cublasOperation_t op, cublasDiagType_t diag, std::int64_t n, const T* a, \
                        std::int64_t lda, T* x, std::int64_t incx) {                             \
    return triangular(name, handle, #family "_", uplo, op, diag, n, -1, a,                       \
                      std::max<std::int64_t>(lda, 1), x, incx);                                  \
  }
#define STANDIN_BAND_TRIANGLE(family)                                                            \
  template <class T>                                                                             \
  cublasStatus_t family(const char* name, cublasHandle_t handle, cublasFillMode_t uplo,          \
                        cublasOperation_t op, cublasDiagType_t diag, std::int64_t n,             \
                        std::int64_t k, const T* a, std::int64_t lda, T* x, std::int64_t incx) { \
    return triangular(name, handle, #family "_", uplo, op, diag, n, k, a,                        \
                      std::max<std::int64_t>(lda, 1), x, incx);                                  \
  }
#define STANDIN_PACKED_TRIANGLE(family)                                                          \
  template <class T>                                                                             \
  cublasStatus_t family(const char* name, cublasHandle_t handle, cublasFillMode_t uplo,          \
                        cublasOperation_t op, cublasDiagType_t diag, std::int64_t n, const T* a, \
                        T* x, std::int64_t incx) {                                               \
    return triangular(name, handle, #family "_", uplo, op, diag, n, -1, a, 0, x, incx);          \
  }
STANDIN_DENSE_TRIANGLE(trmv)
STANDIN_DENSE_TRIANGLE(trsv)
STANDIN_BAND_TRIANGLE(tbmv)
STANDIN_BAND_TRIANGLE(tbsv)
STANDIN_PACKED_TRIANGLE(tpmv)
STANDIN_PACKED_TRIANGLE(tpsv)

template <class T>
cublasStatus_t rank1(const char* name, cublasHandle_t handle, std::int64_t m, std::int64_t n,
                     const T* alpha, const T* x, std::int64_t incx, const T* y, std::int64_t incy,
                     T* a, std::int64_t lda, bool conjugated) {
  Call call(name, handle);
  const Scalar<T> s = call.scalar(alpha);
  call.need(m >= 0 && n >= 0 && lda >= std::max<std::int64_t>(1, m), "lda >= max(1, m)");
  if (!vectors_ok(call, std::max(m, n), incx, incy) || m == 0 || n == 0) return call.quick();
  const T* px = call.access.in_vector(x, m, incx);
  const T* py = call.access.in_vector(y, n, incy);
  T* pa = call.access.out(a, m, n, lda);
  return call.submit([=] {
    for (std::int64_t j = 0; j < n; ++j) {
      const T v = at(py, j, n, incy);
      const T t = s.get() * (conjugated ? conjugate(v) : v);
      for (std::int64_t i = 0; i < m; ++i) pa[i + j * lda] += at(px, i, m, incx) * t;
    }
  });
}

#define STANDIN_RANK1(family, conjugated)                                                        \
  template <class T>                                                                             \
  cublasStatus_t family(const char* name, cublasHandle_t handle, std::int64_t m, std::int64_t n, \
                        const T* alpha, const T* x, std::int64_t incx, const T* y,               \
                        std::int64_t incy, T* a, std::int64_t lda) {                             \
    return rank1(name, handle, m, n, alpha, x, incx, y, incy, a, lda, conjugated);               \
  }
STANDIN_RANK1(ger, false)
STANDIN_RANK1(geru, false)
STANDIN_RANK1(gerc, true)

}  // namespace standin::blas
