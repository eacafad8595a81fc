#pragma once
// BLAS 3 of cuBLAS, over OpenBLAS.

#include <algorithm>

#include "cublas/call.hpp"
#include "cublas/flags.hpp"

namespace standin::blas {

/// The arguments that gemm-like calls share.
template <class T>
struct Product {
  cublasOperation_t op_a, op_b;
  std::int64_t m, n, k;
  std::int64_t lda, ldb, ldc;
  Scalar<T> alpha, beta;

  std::int64_t rows_a() const { return op_a == CUBLAS_OP_N ? m : k; }
  std::int64_t cols_a() const { return op_a == CUBLAS_OP_N ? k : m; }
  std::int64_t rows_b() const { return op_b == CUBLAS_OP_N ? k : n; }
  std::int64_t cols_b() const { return op_b == CUBLAS_OP_N ? n : k; }

  void check(Call& call) const {
    call.need(m >= 0 && n >= 0 && k >= 0, "sizes that are not negative");
    call.need(lda >= std::max<std::int64_t>(1, rows_a()), "lda >= max(1, rows of A)");
    call.need(ldb >= std::max<std::int64_t>(1, rows_b()), "ldb >= max(1, rows of B)");
    call.need(ldc >= std::max<std::int64_t>(1, m), "ldc >= max(1, m)");
    (void)call.size(std::max({m, n, k, lda, ldb, ldc}));
  }
  void run(const T* a, const T* b, T* c) const {
    fortran(fortran_symbol<T>("gemm_"), letter(op_a), letter(op_b), int(m), int(n), int(k),
            alpha.get(), a, int(lda), b, int(ldb), beta.get(), c, int(ldc));
  }
};

template <class T>
cublasStatus_t gemm(const char* name, cublasHandle_t handle, cublasOperation_t op_a,
                    cublasOperation_t op_b, std::int64_t m, std::int64_t n, std::int64_t k,
                    const T* alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb,
                    const T* beta, T* c, std::int64_t ldc) {
  Call call(name, handle);
  const Product<T> p{op_a, op_b, m, n, k, lda, ldb, ldc, call.scalar(alpha), call.scalar(beta)};
  p.check(call);
  if (!call.good() || m == 0 || n == 0) return call.quick();
  const T* pa = call.access.in(a, p.rows_a(), p.cols_a(), lda);
  const T* pb = call.access.in(b, p.rows_b(), p.cols_b(), ldb);
  T* pc = call.access.out(c, m, n, ldc);
  return call.submit([=] { p.run(pa, pb, pc); });
}

template <class T>
cublasStatus_t gemm3m(const char* name, cublasHandle_t handle, cublasOperation_t op_a,
                      cublasOperation_t op_b, std::int64_t m, std::int64_t n, std::int64_t k,
                      const T* alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb,
                      const T* beta, T* c, std::int64_t ldc) {
  return gemm(name, handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

template <class T>
cublasStatus_t gemmStridedBatched(const char* name, cublasHandle_t handle, cublasOperation_t op_a,
                                  cublasOperation_t op_b, std::int64_t m, std::int64_t n,
                                  std::int64_t k, const T* alpha, const T* a, std::int64_t lda,
                                  std::int64_t stride_a, const T* b, std::int64_t ldb,
                                  std::int64_t stride_b, const T* beta, T* c, std::int64_t ldc,
                                  std::int64_t stride_c, std::int64_t count) {
  Call call(name, handle);
  const Product<T> p{op_a, op_b, m, n, k, lda, ldb, ldc, call.scalar(alpha), call.scalar(beta)};
  p.check(call);
  call.need(count >= 0, "a count that is not negative");
  if (!call.good() || m == 0 || n == 0 || count == 0) return call.quick();
  std::vector<const T*> pa(count), pb(count);
  std::vector<T*> pc(count);
  for (std::int64_t i = 0; i < count && call.good(); ++i) {
    pa[i] = call.access.in(a + i * stride_a, p.rows_a(), p.cols_a(), lda);
    pb[i] = call.access.in(b + i * stride_b, p.rows_b(), p.cols_b(), ldb);
    pc[i] = call.access.out(c + i * stride_c, m, n, ldc);
  }
  return call.submit([=] {
    for (std::int64_t i = 0; i < count; ++i) p.run(pa[i], pb[i], pc[i]);
  });
}

// A triangle of C of order n; A and B have k columns (op = N) or k rows.
template <class T>
struct RankK {
  cublasFillMode_t uplo;
  cublasOperation_t op;
  std::int64_t n, k, lda, ldb, ldc;

  std::int64_t rows() const { return op == CUBLAS_OP_N ? n : k; }
  std::int64_t cols() const { return op == CUBLAS_OP_N ? k : n; }
  void check(Call& call) const {
    call.need(n >= 0 && k >= 0, "sizes that are not negative");
    call.need(std::min(lda, ldb) >= std::max<std::int64_t>(1, rows()), "lda >= max(1, rows)");
    call.need(ldc >= std::max<std::int64_t>(1, n), "ldc >= max(1, n)");
    (void)call.size(std::max({n, k, lda, ldb, ldc}));
  }
};

template <class T, class A, class B>
cublasStatus_t rank_k(const char* name, cublasHandle_t handle, const char* stem, RankK<T> r,
                      const A* alpha, const T* a, const T* b, const B* beta, T* c) {
  Call call(name, handle);
  const Scalar<A> s = call.scalar(alpha);
  const Scalar<B> t = call.scalar(beta);
  r.check(call);
  if (!call.good() || r.n == 0) return call.quick();
  const T* pa = call.access.in(a, r.rows(), r.cols(), r.lda);
  const T* pb = b == nullptr ? nullptr : call.access.in(b, r.rows(), r.cols(), r.ldb);
  T* pc = call.access.out(c, r.n, r.n, r.ldc);
  return call.submit([=] {
    void* f = fortran_symbol<T>(stem);
    if (pb == nullptr && b == nullptr) {
      fortran(f, letter(r.uplo), letter(r.op), int(r.n), int(r.k), s.get(), pa, int(r.lda), t.get(),
              pc, int(r.ldc));
    } else {
      fortran(f, letter(r.uplo), letter(r.op), int(r.n), int(r.k), s.get(), pa, int(r.lda), pb,
              int(r.ldb), t.get(), pc, int(r.ldc));
    }
  });
}

#define STANDIN_RANK_K(family)                                                                   \
  template <class T, class A>                                                                    \
  cublasStatus_t family(const char* name, cublasHandle_t handle, cublasFillMode_t uplo,          \
                        cublasOperation_t op, std::int64_t n, std::int64_t k, const A* alpha,    \
                        const T* a, std::int64_t lda, const A* beta, T* c, std::int64_t ldc) {   \
    return rank_k<T, A, A>(name, handle, #family "_", {uplo, op, n, k, lda, lda, ldc}, alpha, a, \
                           nullptr, beta, c);                                                    \
  }
#define STANDIN_RANK_2K(family)                                                                    \
  template <class T, class B>                                                                      \
  cublasStatus_t family(const char* name, cublasHandle_t handle, cublasFillMode_t uplo,            \
                        cublasOperation_t op, std::int64_t n, std::int64_t k, const T* alpha,      \
                        const T* a, std::int64_t lda, const T* b, std::int64_t ldb, const B* beta, \
                        T* c, std::int64_t ldc) {                                                  \
    return rank_k<T, T, B>(name, handle, #family "_", {uplo, op, n, k, lda, ldb, ldc}, alpha, a,   \
                           b, beta, c);                                                            \
  }
STANDIN_RANK_K(syrk)
STANDIN_RANK_K(herk)
STANDIN_RANK_2K(syr2k)
STANDIN_RANK_2K(her2k)

// C := alpha op(A) op(B)' + beta C, one triangle, for products that are symmetric.
template <class T, class B>
cublasStatus_t triangle_product(const char* name, cublasHandle_t handle, bool hermitian, RankK<T> r,
                                const T* alpha, const T* a, const T* b, const B* beta, T* c) {
  Call call(name, handle);
  const Scalar<T> s = call.scalar(alpha);
  const Scalar<B> t = call.scalar(beta);
  r.check(call);
  if (!call.good() || r.n == 0) return call.quick();
  const T* pa = call.access.in(a, r.rows(), r.cols(), r.lda);
  const T* pb = call.access.in(b, r.rows(), r.cols(), r.ldb);
  T* pc = call.access.out(c, r.n, r.n, r.ldc);
  return call.submit([=] {
    const bool plain = r.op == CUBLAS_OP_N;
    const auto h = [hermitian](T v) { return hermitian ? conjugate(v) : v; };
    for (std::int64_t j = 0; j < r.n; ++j) {
      for (std::int64_t i = 0; i < r.n; ++i) {
        if (r.uplo == CUBLAS_FILL_MODE_LOWER ? i < j : i > j) continue;
        T sum{};
        for (std::int64_t l = 0; l < r.k; ++l) {
          sum += plain ? pa[i + l * r.lda] * h(pb[j + l * r.ldb])
                       : h(pa[l + i * r.lda]) * pb[l + j * r.ldb];
        }
        T& element = pc[i + j * r.ldc];
        element = s.get() * sum + (t.get() == B(0) ? T(0) : T(t.get()) * element);
      }
    }
  });
}

#define STANDIN_TRIANGLE_PRODUCT(family, hermitian)                                                \
  template <class T, class B>                                                                      \
  cublasStatus_t family(const char* name, cublasHandle_t handle, cublasFillMode_t uplo,            \
                        cublasOperation_t op, std::int64_t n, std::int64_t k, const T* alpha,      \
                        const T* a, std::int64_t lda, const T* b, std::int64_t ldb, const B* beta, \
                        T* c, std::int64_t ldc) {                                                  \
    return triangle_product<T, B>(name, handle, hermitian, {uplo, op, n, k, lda, ldb, ldc}, alpha, \
                                  a, b, beta, c);                                                  \
  }
STANDIN_TRIANGLE_PRODUCT(syrkx, false)
STANDIN_TRIANGLE_PRODUCT(herkx, true)

template <class T>
cublasStatus_t symmetric_mm(const char* name, cublasHandle_t handle, const char* stem,
                            cublasSideMode_t side, cublasFillMode_t uplo, std::int64_t m,
                            std::int64_t n, const T* alpha, const T* a, std::int64_t lda,
                            const T* b, std::int64_t ldb, const T* beta, T* c, std::int64_t ldc) {
  Call call(name, handle);
  const Scalar<T> s = call.scalar(alpha);
  const Scalar<T> t = call.scalar(beta);
  const std::int64_t order = side == CUBLAS_SIDE_LEFT ? m : n;
  call.need(m >= 0 && n >= 0, "sizes that are not negative");
  call.need(lda >= std::max<std::int64_t>(1, order), "lda >= max(1, order of A)");
  call.need(std::min(ldb, ldc) >= std::max<std::int64_t>(1, m), "ldb, ldc >= max(1, m)");
  (void)call.size(std::max({m, n, lda, ldb, ldc}));
  if (!call.good() || m == 0 || n == 0) return call.quick();
  const T* pa = call.access.in(a, order, order, lda);
  const T* pb = call.access.in(b, m, n, ldb);
  T* pc = call.access.out(c, m, n, ldc);
  return call.submit([=] {
    fortran(fortran_symbol<T>(stem), letter(side), letter(uplo), int(m), int(n), s.get(), pa,
            int(lda), pb, int(ldb), t.get(), pc, int(ldc));
  });
}

#define STANDIN_SYMMETRIC_MM(family)                                                               \
  template <class T>                                                                               \
  cublasStatus_t family(const char* name, cublasHandle_t handle, cublasSideMode_t side,            \
                        cublasFillMode_t uplo, std::int64_t m, std::int64_t n, const T* alpha,     \
                        const T* a, std::int64_t lda, const T* b, std::int64_t ldb, const T* beta, \
                        T* c, std::int64_t ldc) {                                                  \
    return symmetric_mm(name, handle, #family "_", side, uplo, m, n, alpha, a, lda, b, ldb, beta,  \
                        c, ldc);                                                                   \
  }
STANDIN_SYMMETRIC_MM(symm)
STANDIN_SYMMETRIC_MM(hemm)

// Copies B to C (which may be B), then C := alpha op(A)^(+-1) C, or with op(A) on the right.
template <class T>
cublasStatus_t triangular_mm(const char* name, cublasHandle_t handle, const char* stem,
                             cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t op,
                             cublasDiagType_t diag, std::int64_t m, std::int64_t n, const T* alpha,
                             const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T* c,
                             std::int64_t ldc) {
  Call call(name, handle);
  const Scalar<T> s = call.scalar(alpha);
  const std::int64_t order = side == CUBLAS_SIDE_LEFT ? m : n;
  call.need(m >= 0 && n >= 0, "sizes that are not negative");
  call.need(lda >= std::max<std::int64_t>(1, order), "lda >= max(1, order of A)");
  call.need(std::min(ldb, ldc) >= std::max<std::int64_t>(1, m), "ldb, ldc >= max(1, m)");
  call.need(b != c || ldb == ldc, "in place with one leading dimension");
  (void)call.size(std::max({m, n, lda, ldb, ldc}));
  if (!call.good() || m == 0 || n == 0) return call.quick();
  const T* pa = call.access.in(a, order, order, lda);
  const T* pb = call.access.in(b, m, n, ldb);
  T* pc = call.access.out(c, m, n, ldc);
  return call.submit([=] {
    for (std::int64_t j = 0; j < n && pb != pc; ++j) std::copy_n(pb + j * ldb, m, pc + j * ldc);
    fortran(fortran_symbol<T>(stem), letter(side), letter(uplo), letter(op), letter(diag), int(m),
            int(n), s.get(), pa, int(lda), pc, int(ldc));
  });
}

template <class T>
cublasStatus_t trmm(const char* name, cublasHandle_t handle, cublasSideMode_t side,
                    cublasFillMode_t uplo, cublasOperation_t op, cublasDiagType_t diag,
                    std::int64_t m, std::int64_t n, const T* alpha, const T* a, std::int64_t lda,
                    const T* b, std::int64_t ldb, T* c, std::int64_t ldc) {
  return triangular_mm(name, handle, "trmm_", side, uplo, op, diag, m, n, alpha, a, lda, b, ldb, c,
                       ldc);
}

template <class T>
cublasStatus_t trsm(const char* name, cublasHandle_t handle, cublasSideMode_t side,
                    cublasFillMode_t uplo, cublasOperation_t op, cublasDiagType_t diag,
                    std::int64_t m, std::int64_t n, const T* alpha, const T* a, std::int64_t lda,
                    T* b, std::int64_t ldb) {
  return triangular_mm<T>(name, handle, "trsm_", side, uplo, op, diag, m, n, alpha, a, lda, b, ldb,
                          b, ldb);
}

// C := alpha op(A) + beta op(B). C may be A or B if that matrix is not transposed.
template <class T>
cublasStatus_t geam(const char* name, cublasHandle_t handle, cublasOperation_t op_a,
                    cublasOperation_t op_b, std::int64_t m, std::int64_t n, const T* alpha,
                    const T* a, std::int64_t lda, const T* beta, const T* b, std::int64_t ldb, T* c,
                    std::int64_t ldc) {
  Call call(name, handle);
  const Scalar<T> s = call.scalar(alpha);
  const Scalar<T> t = call.scalar(beta);
  const bool turned_a = op_a != CUBLAS_OP_N;
  const bool turned_b = op_b != CUBLAS_OP_N;
  call.need(m >= 0 && n >= 0 && ldc >= std::max<std::int64_t>(1, m), "ldc >= max(1, m)");
  call.need(lda >= std::max<std::int64_t>(1, turned_a ? n : m), "lda >= max(1, rows of A)");
  call.need(ldb >= std::max<std::int64_t>(1, turned_b ? n : m), "ldb >= max(1, rows of B)");
  call.need(a != c || (!turned_a && lda == ldc), "in place without transposition");
  call.need(b != c || (!turned_b && ldb == ldc), "in place without transposition");
  if (!call.good() || m == 0 || n == 0) return call.quick();
  // A matrix is not read, and may be null, if its factor is a zero on the host.
  const T* pa = a == nullptr ? nullptr : call.access.in(a, turned_a ? n : m, turned_a ? m : n, lda);
  const T* pb = b == nullptr ? nullptr : call.access.in(b, turned_b ? n : m, turned_b ? m : n, ldb);
  T* pc = call.access.out(c, m, n, ldc);
  return call.submit([=] {
    const auto read = [](const T* p, cublasOperation_t op, std::int64_t i, std::int64_t j,
                         std::int64_t ld) {
      if (op == CUBLAS_OP_N) return p[i + j * ld];
      return op == CUBLAS_OP_T ? p[j + i * ld] : conjugate(p[j + i * ld]);
    };
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) {
        T sum{};
        if (s.get() != T(0)) sum += s.get() * read(pa, op_a, i, j, lda);
        if (t.get() != T(0)) sum += t.get() * read(pb, op_b, i, j, ldb);
        pc[i + j * ldc] = sum;
      }
    }
  });
}

// C := diag(x) A, or A diag(x).
template <class T>
cublasStatus_t dgmm(const char* name, cublasHandle_t handle, cublasSideMode_t side, std::int64_t m,
                    std::int64_t n, const T* a, std::int64_t lda, const T* x, std::int64_t incx,
                    T* c, std::int64_t ldc) {
  Call call(name, handle);
  call.need(std::min(lda, ldc) >= std::max<std::int64_t>(1, m), "lda, ldc >= max(1, m)");
  if (!call.good() || m <= 0 || n <= 0) return call.quick();
  const std::int64_t length = side == CUBLAS_SIDE_LEFT ? m : n;
  const T* pa = call.access.in(a, m, n, lda);
  const T* px = call.access.in_vector(x, length, incx);
  T* pc = call.access.out(c, m, n, ldc);
  return call.submit([=] {
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) {
        const std::int64_t at = side == CUBLAS_SIDE_LEFT ? i : j;
        pc[i + j * ldc] = pa[i + j * lda] * px[incx >= 0 ? at * incx : (at - length + 1) * incx];
      }
    }
  });
}

}  // namespace standin::blas
