#pragma once
// Prototypes of the Fortran routines as C and C++ programs declare them (without hidden string
// lengths), and one overloaded name per routine, so that one test covers s, d, c and z.

#include <complex>

namespace blas {

using Single = std::complex<float>;
using Double = std::complex<double>;

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

inline float conj(float x) { return x; }
inline double conj(double x) { return x; }
template <class T>
std::complex<T> conj(std::complex<T> x) {
  return std::conj(x);
}

}  // namespace blas

#define OB_DECLARE_COMMON(p, T)                                                                    \
  extern "C" {                                                                                     \
  void p##gemm_(const char*, const char*, const int*, const int*, const int*, const T*, const T*,  \
                const int*, const T*, const int*, const T*, T*, const int*);                       \
  void p##syrk_(const char*, const char*, const int*, const int*, const T*, const T*, const int*,  \
                const T*, T*, const int*);                                                         \
  void p##symm_(const char*, const char*, const int*, const int*, const T*, const T*, const int*,  \
                const T*, const int*, const T*, T*, const int*);                                   \
  void p##trmm_(const char*, const char*, const char*, const char*, const int*, const int*,        \
                const T*, const T*, const int*, T*, const int*);                                   \
  void p##trsm_(const char*, const char*, const char*, const char*, const int*, const int*,        \
                const T*, const T*, const int*, T*, const int*);                                   \
  void p##gesv_(const int*, const int*, T*, const int*, int*, T*, const int*, int*);               \
  void p##getrf_(const int*, const int*, T*, const int*, int*, int*);                              \
  void p##getrs_(const char*, const int*, const int*, const T*, const int*, const int*, T*,        \
                 const int*, int*);                                                                \
  void p##potrf_(const char*, const int*, T*, const int*, int*);                                   \
  void p##potrs_(const char*, const int*, const int*, const T*, const int*, T*, const int*, int*); \
  }                                                                                                \
  namespace blas {                                                                                 \
  inline void gemm(char ta, char tb, int m, int n, int k, T alpha, const T* a, int lda,            \
                   const T* b, int ldb, T beta, T* c, int ldc) {                                   \
    p##gemm_(&ta, &tb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);                      \
  }                                                                                                \
  inline void syrk(char uplo, char t, int n, int k, T alpha, const T* a, int lda, T beta, T* c,    \
                   int ldc) {                                                                      \
    p##syrk_(&uplo, &t, &n, &k, &alpha, a, &lda, &beta, c, &ldc);                                  \
  }                                                                                                \
  inline void symm(char side, char uplo, int m, int n, T alpha, const T* a, int lda, const T* b,   \
                   int ldb, T beta, T* c, int ldc) {                                               \
    p##symm_(&side, &uplo, &m, &n, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);                      \
  }                                                                                                \
  inline void trmm(char side, char uplo, char t, char diag, int m, int n, T alpha, const T* a,     \
                   int lda, T* b, int ldb) {                                                       \
    p##trmm_(&side, &uplo, &t, &diag, &m, &n, &alpha, a, &lda, b, &ldb);                           \
  }                                                                                                \
  inline void trsm(char side, char uplo, char t, char diag, int m, int n, T alpha, const T* a,     \
                   int lda, T* b, int ldb) {                                                       \
    p##trsm_(&side, &uplo, &t, &diag, &m, &n, &alpha, a, &lda, b, &ldb);                           \
  }                                                                                                \
  inline int gesv(int n, int nrhs, T* a, int lda, int* ipiv, T* b, int ldb) {                      \
    int info = -999;                                                                               \
    p##gesv_(&n, &nrhs, a, &lda, ipiv, b, &ldb, &info);                                            \
    return info;                                                                                   \
  }                                                                                                \
  inline int getrf(int m, int n, T* a, int lda, int* ipiv) {                                       \
    int info = -999;                                                                               \
    p##getrf_(&m, &n, a, &lda, ipiv, &info);                                                       \
    return info;                                                                                   \
  }                                                                                                \
  inline int getrs(char t, int n, int nrhs, const T* a, int lda, const int* ipiv, T* b, int ldb) { \
    int info = -999;                                                                               \
    p##getrs_(&t, &n, &nrhs, a, &lda, ipiv, b, &ldb, &info);                                       \
    return info;                                                                                   \
  }                                                                                                \
  inline int potrf(char uplo, int n, T* a, int lda) {                                              \
    int info = -999;                                                                               \
    p##potrf_(&uplo, &n, a, &lda, &info);                                                          \
    return info;                                                                                   \
  }                                                                                                \
  inline int potrs(char uplo, int n, int nrhs, const T* a, int lda, T* b, int ldb) {               \
    int info = -999;                                                                               \
    p##potrs_(&uplo, &n, &nrhs, a, &lda, b, &ldb, &info);                                          \
    return info;                                                                                   \
  }                                                                                                \
  }

#define OB_DECLARE_HERMITIAN(p, T, R)                                                             \
  extern "C" {                                                                                    \
  void p##herk_(const char*, const char*, const int*, const int*, const R*, const T*, const int*, \
                const R*, T*, const int*);                                                        \
  void p##hemm_(const char*, const char*, const int*, const int*, const T*, const T*, const int*, \
                const T*, const int*, const T*, T*, const int*);                                  \
  }                                                                                               \
  namespace blas {                                                                                \
  inline void herk(char uplo, char t, int n, int k, R alpha, const T* a, int lda, R beta, T* c,   \
                   int ldc) {                                                                     \
    p##herk_(&uplo, &t, &n, &k, &alpha, a, &lda, &beta, c, &ldc);                                 \
  }                                                                                               \
  inline void hemm(char side, char uplo, int m, int n, T alpha, const T* a, int lda, const T* b,  \
                   int ldb, T beta, T* c, int ldc) {                                              \
    p##hemm_(&side, &uplo, &m, &n, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);                     \
  }                                                                                               \
  }

OB_DECLARE_COMMON(s, float)
OB_DECLARE_COMMON(d, double)
OB_DECLARE_COMMON(c, blas::Single)
OB_DECLARE_COMMON(z, blas::Double)
OB_DECLARE_HERMITIAN(c, blas::Single, float)
OB_DECLARE_HERMITIAN(z, blas::Double, double)
