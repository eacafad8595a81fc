// cusolver: eigenvalues and singular values for any type, over LAPACK.

#include <algorithm>
#include <cstring>

#include "cusolver/any.hpp"

using standin::fortran;
using standin::fortran_symbol;
using standin::kComplex;
using standin::letter;
using standin::Real;
using standin::solver::AnyCall;
using standin::solver::of_type;
using standin::solver::with_workspace;
using standin::solver::work_elements;

namespace {

template <class T>
void eigen(bool vectors, char uplo, int n, T* a, int lda, Real<T>* w, int* info) {
  const char job = vectors ? 'V' : 'N';
  std::vector<Real<T>> real_work(std::max(1, 3 * n));
  with_workspace<T>([&](T* v, int lv) {
    if constexpr (kComplex<T>) {
      fortran(fortran_symbol<T>("heev_"), job, uplo, n, a, lda, w, v, lv, real_work.data(), info);
    } else {
      fortran(fortran_symbol<T>("syev_"), job, uplo, n, a, lda, w, v, lv, info);
    }
  });
  if (vectors) return;
  for (int j = 0; j < n; ++j)  // the manual calls the matrix "destroyed": all of it
    std::memset(static_cast<void*>(a + std::int64_t{j} * lda), 0xFF, n * sizeof(T));
}

template <class T>
struct Singular {
  char jobu, jobvt;
  int m, n, lda, ldu, ldvt;
  T *a, *u, *vt;
  Real<T>* s;
  int* info;

  void run() const {
    std::vector<Real<T>> real_work(std::max(1, 5 * std::min(m, n)));
    with_workspace<T>([&](T* v, int lv) {
      if constexpr (kComplex<T>) {
        fortran(fortran_symbol<T>("gesvd_"), jobu, jobvt, m, n, a, lda, s, u, ldu, vt, ldvt, v, lv,
                real_work.data(), info);
      } else {
        fortran(fortran_symbol<T>("gesvd_"), jobu, jobvt, m, n, a, lda, s, u, ldu, vt, ldvt, v, lv,
                info);
      }
    });
  }
};

}  // namespace

extern "C" {

cusolverStatus_t cusolverDnXsyevd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             cusolverEigMode_t, cublasFillMode_t, int64_t n,
                                             cudaDataType type, const void*, int64_t,
                                             cudaDataType type_w, const void*, cudaDataType compute,
                                             size_t* device, size_t* host) {
  const AnyCall call(__func__, handle, params, {type, compute}, type_w);
  return call.answer(type, n, n, device, host);
}

cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                  cusolverEigMode_t job, cublasFillMode_t uplo, int64_t n,
                                  cudaDataType type, void* a, int64_t lda, cudaDataType type_w,
                                  void* w, cudaDataType compute, void* device, size_t device_bytes,
                                  void* host, size_t host_bytes, int* info) {
  AnyCall call(__func__, handle, params, {type, compute}, type_w);
  call.need(n >= 0 && lda >= std::max<int64_t>(1, n), "lda >= max(1, n)");
  return of_type(type, CUSOLVER_STATUS_INVALID_VALUE, [&](auto zero) {
    using T = decltype(zero);
    T* pa = call.access.out(static_cast<T*>(a), n, n, lda);
    Real<T>* pw = call.access.out(static_cast<Real<T>*>(w), n);
    int* result = call.info(info);
    call.workspaces(work_elements(n, n), sizeof(T), device, device_bytes, host, host_bytes);
    return call.submit([=] {
      eigen(job == CUSOLVER_EIG_MODE_VECTOR, letter(uplo), int(n), pa, int(lda), pw, result);
      if (job == CUSOLVER_EIG_MODE_NOVECTOR) standin::solver::fill_matrix(int(n), pa, int(lda));
    });
  });
}

cusolverStatus_t cusolverDnXgesvd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             signed char, signed char, int64_t m, int64_t n,
                                             cudaDataType type, const void*, int64_t,
                                             cudaDataType type_s, const void*, cudaDataType type_u,
                                             const void*, int64_t, cudaDataType type_vt,
                                             const void*, int64_t, cudaDataType compute,
                                             size_t* device, size_t* host) {
  AnyCall call(__func__, handle, params, {type, type_u, type_vt, compute}, type_s);
  call.need(m >= n, "m >= n");
  return call.answer(type, m, n, device, host);
}

cusolverStatus_t cusolverDnXgesvd(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                  signed char jobu, signed char jobvt, int64_t m, int64_t n,
                                  cudaDataType type, void* a, int64_t lda, cudaDataType type_s,
                                  void* s, cudaDataType type_u, void* u, int64_t ldu,
                                  cudaDataType type_vt, void* vt, int64_t ldvt,
                                  cudaDataType compute, void* device, size_t device_bytes,
                                  void* host, size_t host_bytes, int* info) {
  AnyCall call(__func__, handle, params, {type, type_u, type_vt, compute}, type_s);
  call.need(m >= n && n >= 0 && lda >= std::max<int64_t>(1, m), "m >= n, lda >= max(1, m)");
  return of_type(type, CUSOLVER_STATUS_INVALID_VALUE, [&](auto zero) {
    using T = decltype(zero);
    const int64_t cols_u = jobu == 'A' ? m : (jobu == 'S' ? n : 0);
    const int64_t rows_vt = jobvt == 'A' || jobvt == 'S' ? n : 0;
    call.need(cols_u == 0 || ldu >= std::max<int64_t>(1, m), "ldu >= max(1, m)");
    call.need(rows_vt == 0 || ldvt >= std::max<int64_t>(1, n), "ldvt >= max(1, n)");
    Singular<T> singular{char(jobu),
                         char(jobvt),
                         int(m),
                         int(n),
                         int(lda),
                         std::max(1, int(ldu)),
                         std::max(1, int(ldvt)),
                         nullptr,
                         nullptr,
                         nullptr,
                         nullptr,
                         nullptr};
    singular.a = call.access.out(static_cast<T*>(a), m, n, lda);
    singular.s = call.access.out(static_cast<Real<T>*>(s), n);
    singular.u = call.access.out(static_cast<T*>(u), m, cols_u, ldu);
    singular.vt = call.access.out(static_cast<T*>(vt), rows_vt, n, ldvt);
    singular.info = call.info(info);
    call.workspaces(work_elements(m, n), sizeof(T), device, device_bytes, host, host_bytes);
    return call.submit([=] { singular.run(); });
  });
}

}  // extern "C"
