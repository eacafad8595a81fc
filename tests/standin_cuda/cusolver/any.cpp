// cusolver: functions for any type, with sizes of 64 bits, over LAPACK.

#include <algorithm>
#include <vector>

#include "cusolver/any.hpp"

using standin::fortran;
using standin::fortran_symbol;
using standin::letter;
using standin::solver::AnyCall;
using standin::solver::of_type;
using standin::solver::with_workspace;
using standin::solver::work_elements;

namespace {

// Converts pivots of 64 bits to LAPACK's.
std::vector<int> narrow(const std::int64_t* pivots, std::int64_t n) { return {pivots, pivots + n}; }

}  // namespace

extern "C" {

cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             int64_t m, int64_t n, cudaDataType type, const void*,
                                             int64_t, cudaDataType compute, size_t* device,
                                             size_t* host) {
  const AnyCall call(__func__, handle, params, {type, compute});
  return call.answer(type, m, n, device, host);
}

cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m,
                                  int64_t n, cudaDataType type, void* a, int64_t lda, int64_t* ipiv,
                                  cudaDataType compute, void* device, size_t device_bytes,
                                  void* host, size_t host_bytes, int* info) {
  AnyCall call(__func__, handle, params, {type, compute});
  call.need(m >= 0 && n >= 0 && lda >= std::max<int64_t>(1, m), "lda >= max(1, m)");
  return of_type(type, CUSOLVER_STATUS_INVALID_VALUE, [&](auto zero) {
    using T = decltype(zero);
    T* pa = call.access.out(static_cast<T*>(a), m, n, lda);
    int64_t* pivots = call.access.out(ipiv, std::min(m, n));
    int* result = call.info(info);
    call.workspaces(work_elements(m, n), sizeof(T), device, device_bytes, host, host_bytes);
    return call.submit([=] {
      std::vector<int> narrow_pivots(std::max<int64_t>(1, std::min(m, n)));
      fortran(fortran_symbol<T>("getrf_"), int(m), int(n), pa, int(lda), narrow_pivots.data(),
              result);
      std::copy_n(narrow_pivots.begin(), std::min(m, n), pivots);
    });
  });
}

cusolverStatus_t cusolverDnXgetrs(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                  cublasOperation_t op, int64_t n, int64_t nrhs, cudaDataType type,
                                  const void* a, int64_t lda, const int64_t* ipiv,
                                  cudaDataType type_b, void* b, int64_t ldb, int* info) {
  AnyCall call(__func__, handle, params, {type, type_b});
  call.need(n >= 0 && nrhs >= 0 && std::min(lda, ldb) >= std::max<int64_t>(1, n), "lda, ldb >= n");
  return of_type(type, CUSOLVER_STATUS_INVALID_VALUE, [&](auto zero) {
    using T = decltype(zero);
    const T* pa = call.access.in(static_cast<const T*>(a), n, n, lda);
    const int64_t* pivots = call.access.in(ipiv, n);
    T* pb = call.access.out(static_cast<T*>(b), n, nrhs, ldb);
    int* result = call.info(info);
    return call.submit([=] {
      const std::vector<int> narrow_pivots = narrow(pivots, n);
      fortran(fortran_symbol<T>("getrs_"), letter(op), int(n), int(nrhs), pa, int(lda),
              narrow_pivots.data(), pb, int(ldb), result);
    });
  });
}

cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             cublasFillMode_t, int64_t n, cudaDataType type,
                                             const void*, int64_t, cudaDataType compute,
                                             size_t* device, size_t* host) {
  const AnyCall call(__func__, handle, params, {type, compute});
  return call.answer(type, n, n, device, host);
}

cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                  cublasFillMode_t uplo, int64_t n, cudaDataType type, void* a,
                                  int64_t lda, cudaDataType compute, void* device,
                                  size_t device_bytes, void* host, size_t host_bytes, int* info) {
  AnyCall call(__func__, handle, params, {type, compute});
  call.need(n >= 0 && lda >= std::max<int64_t>(1, n), "lda >= max(1, n)");
  return of_type(type, CUSOLVER_STATUS_INVALID_VALUE, [&](auto zero) {
    using T = decltype(zero);
    T* pa = call.access.out(static_cast<T*>(a), n, n, lda);
    int* result = call.info(info);
    call.workspaces(work_elements(n, n), sizeof(T), device, device_bytes, host, host_bytes);
    return call.submit(
        [=] { fortran(fortran_symbol<T>("potrf_"), letter(uplo), int(n), pa, int(lda), result); });
  });
}

cusolverStatus_t cusolverDnXpotrs(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                  cublasFillMode_t uplo, int64_t n, int64_t nrhs, cudaDataType type,
                                  const void* a, int64_t lda, cudaDataType type_b, void* b,
                                  int64_t ldb, int* info) {
  AnyCall call(__func__, handle, params, {type, type_b});
  call.need(n >= 0 && nrhs >= 0 && std::min(lda, ldb) >= std::max<int64_t>(1, n), "lda, ldb >= n");
  return of_type(type, CUSOLVER_STATUS_INVALID_VALUE, [&](auto zero) {
    using T = decltype(zero);
    const T* pa = call.access.in(static_cast<const T*>(a), n, n, lda);
    T* pb = call.access.out(static_cast<T*>(b), n, nrhs, ldb);
    int* result = call.info(info);
    return call.submit([=] {
      fortran(fortran_symbol<T>("potrs_"), letter(uplo), int(n), int(nrhs), pa, int(lda), pb,
              int(ldb), result);
    });
  });
}

cusolverStatus_t cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             int64_t m, int64_t n, cudaDataType type, const void*,
                                             int64_t, cudaDataType type_tau, const void*,
                                             cudaDataType compute, size_t* device, size_t* host) {
  const AnyCall call(__func__, handle, params, {type, type_tau, compute});
  return call.answer(type, m, n, device, host);
}

cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m,
                                  int64_t n, cudaDataType type, void* a, int64_t lda,
                                  cudaDataType type_tau, void* tau, cudaDataType compute,
                                  void* device, size_t device_bytes, void* host, size_t host_bytes,
                                  int* info) {
  AnyCall call(__func__, handle, params, {type, type_tau, compute});
  call.need(m >= 0 && n >= 0 && lda >= std::max<int64_t>(1, m), "lda >= max(1, m)");
  return of_type(type, CUSOLVER_STATUS_INVALID_VALUE, [&](auto zero) {
    using T = decltype(zero);
    T* pa = call.access.out(static_cast<T*>(a), m, n, lda);
    T* pt = call.access.out(static_cast<T*>(tau), std::min(m, n));
    int* result = call.info(info);
    call.workspaces(work_elements(m, n), sizeof(T), device, device_bytes, host, host_bytes);
    return call.submit([=] {
      with_workspace<T>([&](T* w, int lw) {
        fortran(fortran_symbol<T>("geqrf_"), int(m), int(n), pa, int(lda), pt, w, lw, result);
      });
    });
  });
}

cusolverStatus_t cusolverDnXtrtri_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t,
                                             cublasDiagType_t, int64_t n, cudaDataType type, void*,
                                             int64_t, size_t* device, size_t* host) {
  const AnyCall call(__func__, handle, nullptr, {type});
  return call.answer(type, n, n, device, host);
}

cusolverStatus_t cusolverDnXtrtri(cusolverDnHandle_t handle, cublasFillMode_t uplo,
                                  cublasDiagType_t diag, int64_t n, cudaDataType type, void* a,
                                  int64_t lda, void* device, size_t device_bytes, void* host,
                                  size_t host_bytes, int* info) {
  AnyCall call(__func__, handle, nullptr, {type});
  call.need(n >= 0 && lda >= std::max<int64_t>(1, n), "lda >= max(1, n)");
  return of_type(type, CUSOLVER_STATUS_INVALID_VALUE, [&](auto zero) {
    using T = decltype(zero);
    T* pa = call.access.out(static_cast<T*>(a), n, n, lda);
    int* result = call.info(info);
    call.workspaces(work_elements(n, n), sizeof(T), device, device_bytes, host, host_bytes);
    return call.submit([=] {
      fortran(fortran_symbol<T>("trtri_"), letter(uplo), letter(diag), int(n), pa, int(lda),
              result);
      if (diag == CUBLAS_DIAG_UNIT) {  // seen with cuSOLVER 12; the reference leaves the diagonal
        for (int64_t i = 0; i < n; ++i) pa[i + i * lda] = T(1);
      }
    });
  });
}

cusolverStatus_t cusolverDnXsytrs_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t, int64_t n,
                                             int64_t nrhs, cudaDataType type, const void*, int64_t,
                                             const int64_t*, cudaDataType type_b, void*, int64_t,
                                             size_t* device, size_t* host) {
  const AnyCall call(__func__, handle, nullptr, {type, type_b});
  return call.answer(type, n, nrhs, device, host);
}

cusolverStatus_t cusolverDnXsytrs(cusolverDnHandle_t handle, cublasFillMode_t uplo, int64_t n,
                                  int64_t nrhs, cudaDataType type, const void* a, int64_t lda,
                                  const int64_t* ipiv, cudaDataType type_b, void* b, int64_t ldb,
                                  void* device, size_t device_bytes, void* host, size_t host_bytes,
                                  int* info) {
  AnyCall call(__func__, handle, nullptr, {type, type_b});
  call.need(n >= 0 && nrhs >= 0 && std::min(lda, ldb) >= std::max<int64_t>(1, n), "lda, ldb >= n");
  return of_type(type, CUSOLVER_STATUS_INVALID_VALUE, [&](auto zero) {
    using T = decltype(zero);
    const T* pa = call.access.in(static_cast<const T*>(a), n, n, lda);
    const int64_t* pivots = call.access.in(ipiv, n);
    T* pb = call.access.out(static_cast<T*>(b), n, nrhs, ldb);
    int* result = call.info(info);
    call.workspaces(work_elements(n, nrhs), sizeof(T), device, device_bytes, host, host_bytes);
    return call.submit([=] {
      const std::vector<int> narrow_pivots = narrow(pivots, n);
      fortran(fortran_symbol<T>("sytrs_"), letter(uplo), int(n), int(nrhs), pa, int(lda),
              narrow_pivots.data(), pb, int(ldb), result);
    });
  });
}

}  // extern "C"
