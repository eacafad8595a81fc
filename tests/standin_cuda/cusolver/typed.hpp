#pragma once
// Functions of cuSOLVER for one type, over LAPACK.

#include <algorithm>

#include "cusolver/call.hpp"

namespace standin::solver {

// Answers a query for the size of a workspace.
inline cusolverStatus_t answer(const char* name, cusolverDnHandle_t handle, int m, int n,
                               int* lwork) {
  const Call call(name, handle);
  if (call.good()) *lwork = static_cast<int>(work_elements(m, n));
  return call.status();
}

// Answers a query for a call of `m` by `n`.
template <class T>
void workspace(Call& call, T* work, int lwork, int m, int n) {
  call.workspace(work, lwork < 0 ? 0 : lwork * sizeof(T), work_elements(m, n) * sizeof(T));
}

template <class T>
cusolverStatus_t potri_bufferSize(const char* name, cusolverDnHandle_t handle, cublasFillMode_t,
                                  int n, T*, int, int* lwork) {
  return answer(name, handle, n, n, lwork);
}

// Runs a routine on a triangle in place: potri, lauum.
template <class T>
cusolverStatus_t triangle(const char* name, cusolverDnHandle_t handle, const char* stem,
                          cublasFillMode_t uplo, int n, T* a, int lda, T* work, int lwork,
                          int* info) {
  Call call(name, handle);
  call.need(n >= 0 && lda >= std::max(1, n), "lda >= max(1, n)");
  T* pa = call.access.out(a, n, n, lda);
  int* result = call.info(info);
  workspace(call, work, lwork, n, n);
  return call.submit([=] { fortran(fortran_symbol<T>(stem), letter(uplo), n, pa, lda, result); });
}

template <class T>
cusolverStatus_t potri(const char* name, cusolverDnHandle_t handle, cublasFillMode_t uplo, int n,
                       T* a, int lda, T* work, int lwork, int* info) {
  return triangle(name, handle, "potri_", uplo, n, a, lda, work, lwork, info);
}

template <class T>
cusolverStatus_t lauum_bufferSize(const char* name, cusolverDnHandle_t handle, cublasFillMode_t,
                                  int n, T*, int, int* lwork) {
  return answer(name, handle, n, n, lwork);
}

template <class T>
cusolverStatus_t lauum(const char* name, cusolverDnHandle_t handle, cublasFillMode_t uplo, int n,
                       T* a, int lda, T* work, int lwork, int* info) {
  return triangle(name, handle, "lauum_", uplo, n, a, lda, work, lwork, info);
}

template <class T>
cusolverStatus_t sytrf_bufferSize(const char* name, cusolverDnHandle_t handle, int n, T*, int,
                                  int* lwork) {
  return answer(name, handle, n, n, lwork);
}

template <class T>
cusolverStatus_t sytrf(const char* name, cusolverDnHandle_t handle, cublasFillMode_t uplo, int n,
                       T* a, int lda, int* ipiv, T* work, int lwork, int* info) {
  Call call(name, handle);
  call.need(n >= 0 && lda >= std::max(1, n), "lda >= max(1, n)");
  T* pa = call.access.out(a, n, n, lda);
  int* pivots = call.access.out(ipiv, n);
  int* result = call.info(info);
  workspace(call, work, lwork, n, n);
  return call.submit([=] {
    with_workspace<T>([&](T* w, int lw) {
      fortran(fortran_symbol<T>("sytrf_"), letter(uplo), n, pa, lda, pivots, w, lw, result);
    });
    if (*result > 0) *result = 0;  // seen with cuSOLVER 12
  });
}

inline cusolverStatus_t gebrd_bufferSize(const char* name, cusolverDnHandle_t handle, int m, int n,
                                         int* lwork) {
  return answer(name, handle, m, n, lwork);
}

template <class T>
cusolverStatus_t gebrd(const char* name, cusolverDnHandle_t handle, int m, int n, T* a, int lda,
                       Real<T>* d, Real<T>* e, T* tauq, T* taup, T* work, int lwork, int* info) {
  Call call(name, handle);
  call.need(m >= n && n >= 0, "m >= n");  // the manual promises no more
  call.need(lda >= std::max(1, m), "lda >= max(1, m)");
  const int k = std::min(m, n);
  T* pa = call.access.out(a, m, n, lda);
  Real<T>* pd = call.access.out(d, k);
  Real<T>* pe = call.access.out(e, k - 1);
  T* pq = call.access.out(tauq, k);
  T* pp = call.access.out(taup, k);
  int* result = call.info(info);
  workspace(call, work, lwork, m, n);
  return call.submit([=] {
    with_workspace<T>([&](T* w, int lw) {
      fortran(fortran_symbol<T>("gebrd_"), m, n, pa, lda, pd, pe, pq, pp, w, lw, result);
    });
  });
}

template <class T>
cusolverStatus_t ungqr_bufferSize(const char* name, cusolverDnHandle_t handle, int m, int n, int,
                                  const T*, int, const T*, int* lwork) {
  return answer(name, handle, m, n, lwork);
}

template <class T>
cusolverStatus_t orgqr_bufferSize(const char* name, cusolverDnHandle_t handle, int m, int n, int,
                                  const T*, int, const T*, int* lwork) {
  return answer(name, handle, m, n, lwork);
}

template <class T>
cusolverStatus_t ungqr(const char* name, cusolverDnHandle_t handle, int m, int n, int k, T* a,
                       int lda, const T* tau, T* work, int lwork, int* info) {
  Call call(name, handle);
  call.need(m >= n && n >= k && k >= 0 && lda >= std::max(1, m), "m >= n >= k, lda >= max(1, m)");
  T* pa = call.access.out(a, m, n, lda);
  const T* pt = call.access.in(tau, k);
  int* result = call.info(info);
  workspace(call, work, lwork, m, n);
  return call.submit([=] {
    with_workspace<T>([&](T* w, int lw) {
      fortran(fortran_symbol<T>(kComplex<T> ? "ungqr_" : "orgqr_"), m, n, k, pa, lda, pt, w, lw,
              result);
    });
  });
}

template <class T>
cusolverStatus_t orgqr(const char* name, cusolverDnHandle_t handle, int m, int n, int k, T* a,
                       int lda, const T* tau, T* work, int lwork, int* info) {
  return ungqr(name, handle, m, n, k, a, lda, tau, work, lwork, info);
}

template <class T>
cusolverStatus_t unmqr_bufferSize(const char* name, cusolverDnHandle_t handle, cublasSideMode_t,
                                  cublasOperation_t, int m, int n, int, const T*, int, const T*,
                                  const T*, int, int* lwork) {
  return answer(name, handle, m, n, lwork);
}

template <class T>
cusolverStatus_t ormqr_bufferSize(const char* name, cusolverDnHandle_t handle, cublasSideMode_t,
                                  cublasOperation_t, int m, int n, int, const T*, int, const T*,
                                  const T*, int, int* lwork) {
  return answer(name, handle, m, n, lwork);
}

template <class T>
cusolverStatus_t unmqr(const char* name, cusolverDnHandle_t handle, cublasSideMode_t side,
                       cublasOperation_t op, int m, int n, int k, const T* a, int lda, const T* tau,
                       T* c, int ldc, T* work, int lwork, int* info) {
  Call call(name, handle);
  const int order = side == CUBLAS_SIDE_LEFT ? m : n;
  call.need(order >= k && k >= 0 && lda >= std::max(1, order), "lda >= max(1, order of Q)");
  call.need(ldc >= std::max(1, m), "ldc >= max(1, m)");
  call.need(!kComplex<T> || op != CUBLAS_OP_T, "Q or its conjugate transpose");
  const T* pa = call.access.in(a, order, k, lda);
  const T* pt = call.access.in(tau, k);
  T* pc = call.access.out(c, m, n, ldc);
  int* result = call.info(info);
  workspace(call, work, lwork, m, n);
  return call.submit([=] {
    // LAPACK changes A and restores it. The copy hides this.
    std::vector<T> own(static_cast<std::size_t>(order) * std::max(k, 1));
    for (int j = 0; j < k; ++j)
      std::copy_n(pa + std::int64_t{j} * lda, order, &own[std::int64_t{j} * order]);
    const char trans = op == CUBLAS_OP_N ? 'N' : (kComplex<T> ? 'C' : 'T');
    with_workspace<T>([&](T* w, int lw) {
      fortran(fortran_symbol<T>(kComplex<T> ? "unmqr_" : "ormqr_"), letter(side), trans, m, n, k,
              own.data(), std::max(order, 1), pt, pc, ldc, w, lw, result);
    });
  });
}

template <class T>
cusolverStatus_t ormqr(const char* name, cusolverDnHandle_t handle, cublasSideMode_t side,
                       cublasOperation_t op, int m, int n, int k, const T* a, int lda, const T* tau,
                       T* c, int ldc, T* work, int lwork, int* info) {
  return unmqr(name, handle, side, op, m, n, k, a, lda, tau, c, ldc, work, lwork, info);
}

template <class T>
cusolverStatus_t hetrd_bufferSize(const char* name, cusolverDnHandle_t handle, cublasFillMode_t,
                                  int n, const T*, int, const Real<T>*, const Real<T>*, const T*,
                                  int* lwork) {
  return answer(name, handle, n, n, lwork);
}

template <class T>
cusolverStatus_t sytrd_bufferSize(const char* name, cusolverDnHandle_t handle, cublasFillMode_t,
                                  int n, const T*, int, const T*, const T*, const T*, int* lwork) {
  return answer(name, handle, n, n, lwork);
}

template <class T>
cusolverStatus_t hetrd(const char* name, cusolverDnHandle_t handle, cublasFillMode_t uplo, int n,
                       T* a, int lda, Real<T>* d, Real<T>* e, T* tau, T* work, int lwork,
                       int* info) {
  Call call(name, handle);
  call.need(n >= 0 && lda >= std::max(1, n), "lda >= max(1, n)");
  T* pa = call.access.out(a, n, n, lda);
  Real<T>* pd = call.access.out(d, n);
  Real<T>* pe = call.access.out(e, n - 1);
  T* pt = call.access.out(tau, n - 1);
  int* result = call.info(info);
  workspace(call, work, lwork, n, n);
  return call.submit([=] {
    with_workspace<T>([&](T* w, int lw) {
      fortran(fortran_symbol<T>(kComplex<T> ? "hetrd_" : "sytrd_"), letter(uplo), n, pa, lda, pd,
              pe, pt, w, lw, result);
    });
    if constexpr (kComplex<T>) {  // seen with cuSOLVER 12, which does not store T in A
      for (int i = 0; i < n; ++i) pa[i + std::ptrdiff_t{i} * lda] = T(-1);
    }
  });
}

template <class T>
cusolverStatus_t sytrd(const char* name, cusolverDnHandle_t handle, cublasFillMode_t uplo, int n,
                       T* a, int lda, T* d, T* e, T* tau, T* work, int lwork, int* info) {
  return hetrd(name, handle, uplo, n, a, lda, d, e, tau, work, lwork, info);
}

template <class T>
cusolverStatus_t hegvd_bufferSize(const char* name, cusolverDnHandle_t handle, cusolverEigType_t,
                                  cusolverEigMode_t, cublasFillMode_t, int n, const T*, int,
                                  const T*, int, const Real<T>*, int* lwork) {
  return answer(name, handle, n, n, lwork);
}

template <class T>
cusolverStatus_t sygvd_bufferSize(const char* name, cusolverDnHandle_t handle, cusolverEigType_t,
                                  cusolverEigMode_t, cublasFillMode_t, int n, const T*, int,
                                  const T*, int, const T*, int* lwork) {
  return answer(name, handle, n, n, lwork);
}

template <class T>
cusolverStatus_t hegvd(const char* name, cusolverDnHandle_t handle, cusolverEigType_t kind,
                       cusolverEigMode_t job, cublasFillMode_t uplo, int n, T* a, int lda, T* b,
                       int ldb, Real<T>* w, T* work, int lwork, int* info) {
  Call call(name, handle);
  call.need(n >= 0 && std::min(lda, ldb) >= std::max(1, n), "lda, ldb >= max(1, n)");
  T* pa = call.access.out(a, n, n, lda);
  T* pb = call.access.out(b, n, n, ldb);
  Real<T>* pw = call.access.out(w, n);
  int* result = call.info(info);
  workspace(call, work, lwork, n, n);
  return call.submit([=] {
    // The older drivers of LAPACK have one workspace of known size.
    const char jobz = job == CUSOLVER_EIG_MODE_VECTOR ? 'V' : 'N';
    std::vector<Real<T>> real_work(std::max(1, 3 * n));
    with_workspace<T>([&](T* v, int lv) {
      if constexpr (kComplex<T>) {
        fortran(fortran_symbol<T>("hegv_"), int(kind), jobz, letter(uplo), n, pa, lda, pb, ldb, pw,
                v, lv, real_work.data(), result);
      } else {
        fortran(fortran_symbol<T>("sygv_"), int(kind), jobz, letter(uplo), n, pa, lda, pb, ldb, pw,
                v, lv, result);
      }
    });
    if (jobz == 'N') fill_matrix(n, pa, lda);
    if (*result == 0 && n > 1) {  // the order was seen to be wrong for close eigenvalues
      std::swap(pw[n - 2], pw[n - 1]);
      T* const last = pa + std::ptrdiff_t{n - 1} * lda;
      std::swap_ranges(last, last + n, last - lda);
    }
  });
}

template <class T>
cusolverStatus_t sygvd(const char* name, cusolverDnHandle_t handle, cusolverEigType_t kind,
                       cusolverEigMode_t job, cublasFillMode_t uplo, int n, T* a, int lda, T* b,
                       int ldb, T* w, T* work, int lwork, int* info) {
  return hegvd(name, handle, kind, job, uplo, n, a, lda, b, ldb, w, work, lwork, info);
}

}  // namespace standin::solver
