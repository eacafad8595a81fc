#pragma once
// BLAS 1 of cuBLAS, in plain loops.

#include <cmath>
#include <limits>

#include "cublas/call.hpp"

namespace standin::blas {

/// Returns element i of a vector in BLAS's order, also for negative increments.
template <class T>
T& at(T* x, std::int64_t i, std::int64_t n, std::int64_t inc) {
  return x[inc >= 0 ? i * inc : (i - n + 1) * inc];
}

template <class T>
cublasStatus_t axpy(const char* name, cublasHandle_t handle, std::int64_t n, const T* alpha,
                    const T* x, std::int64_t incx, T* y, std::int64_t incy) {
  Call call(name, handle);
  const Scalar<T> a = call.scalar(alpha);
  const T* px = call.access.in_vector(x, n, incx);
  T* py = call.access.out_vector(y, n, incy);
  return call.submit([=] {
    for (std::int64_t i = 0; i < n; ++i) at(py, i, n, incy) += a.get() * at(px, i, n, incx);
  });
}

template <class T, class A>
cublasStatus_t scal(const char* name, cublasHandle_t handle, std::int64_t n, const A* alpha, T* x,
                    std::int64_t incx) {
  Call call(name, handle);
  const Scalar<A> a = call.scalar(alpha);
  if (incx <= 0) return call.quick();
  T* px = call.access.out_vector(x, n, incx);
  return call.submit([=] {
    for (std::int64_t i = 0; i < n; ++i) px[i * incx] *= a.get();
  });
}

template <class T>
cublasStatus_t copy(const char* name, cublasHandle_t handle, std::int64_t n, const T* x,
                    std::int64_t incx, T* y, std::int64_t incy) {
  Call call(name, handle);
  const T* px = call.access.in_vector(x, n, incx);
  T* py = call.access.out_vector(y, n, incy);
  return call.submit([=] {
    for (std::int64_t i = 0; i < n; ++i) at(py, i, n, incy) = at(px, i, n, incx);
  });
}

template <class T>
cublasStatus_t swap(const char* name, cublasHandle_t handle, std::int64_t n, T* x,
                    std::int64_t incx, T* y, std::int64_t incy) {
  Call call(name, handle);
  T* px = call.access.out_vector(x, n, incx);
  T* py = call.access.out_vector(y, n, incy);
  return call.submit([=] {
    for (std::int64_t i = 0; i < n; ++i) std::swap(at(px, i, n, incx), at(py, i, n, incy));
  });
}

template <class T, class Term>
cublasStatus_t dot_of(const char* name, cublasHandle_t handle, std::int64_t n, const T* x,
                      std::int64_t incx, const T* y, std::int64_t incy, T* result, Term term) {
  Call call(name, handle);
  const T* px = call.access.in_vector(x, n, incx);
  const T* py = call.access.in_vector(y, n, incy);
  T* sum = call.result(result);
  return call.submit([=] {
    T s{};
    for (std::int64_t i = 0; i < n; ++i) s += term(at(px, i, n, incx), at(py, i, n, incy));
    *sum = s;
  });
}

template <class T>
cublasStatus_t dot(const char* name, cublasHandle_t handle, std::int64_t n, const T* x,
                   std::int64_t incx, const T* y, std::int64_t incy, T* result) {
  return dot_of(name, handle, n, x, incx, y, incy, result, [](T a, T b) { return a * b; });
}

template <class T>
cublasStatus_t dotu(const char* name, cublasHandle_t handle, std::int64_t n, const T* x,
                    std::int64_t incx, const T* y, std::int64_t incy, T* result) {
  return dot(name, handle, n, x, incx, y, incy, result);
}

template <class T>
cublasStatus_t dotc(const char* name, cublasHandle_t handle, std::int64_t n, const T* x,
                    std::int64_t incx, const T* y, std::int64_t incy, T* result) {
  return dot_of(name, handle, n, x, incx, y, incy, result,
                [](T a, T b) { return conjugate(a) * b; });
}

template <class T>
cublasStatus_t nrm2(const char* name, cublasHandle_t handle, std::int64_t n, const T* x,
                    std::int64_t incx, Real<T>* result) {
  Call call(name, handle);
  Real<T>* norm = call.result(result);
  if (incx <= 0) n = 0;
  const T* px = call.access.in_vector(x, n, incx);
  return call.submit([=] {
    long double s = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const long double a = std::abs(px[i * incx]);
      s += a * a;
    }
    *norm = static_cast<Real<T>>(std::sqrt(s));
  });
}

template <class T>
Real<T> abs1(T a) {
  if constexpr (kComplex<T>) return std::abs(a.real()) + std::abs(a.imag());
  return std::abs(a);
}
template <>
inline float abs1(std::complex<float> a) {
  return std::abs(a.real()) + std::abs(a.imag());
}
template <>
inline double abs1(std::complex<double> a) {
  return std::abs(a.real()) + std::abs(a.imag());
}

template <class T>
cublasStatus_t asum(const char* name, cublasHandle_t handle, std::int64_t n, const T* x,
                    std::int64_t incx, Real<T>* result) {
  Call call(name, handle);
  Real<T>* sum = call.result(result);
  if (incx <= 0) n = 0;
  const T* px = call.access.in_vector(x, n, incx);
  return call.submit([=] {
    Real<T> s = 0;
    for (std::int64_t i = 0; i < n; ++i) s += abs1(px[i * incx]);
    *sum = s;
  });
}

// Returns the first of the largest (smallest) elements, counted from 1; 0 for an empty vector.
template <class T, class I>
cublasStatus_t extreme(const char* name, cublasHandle_t handle, std::int64_t n, const T* x,
                       std::int64_t incx, I* result, bool largest) {
  Call call(name, handle);
  I* index = call.result(result);
  if (incx <= 0) n = 0;
  const T* px = call.access.in_vector(x, n, incx);
  return call.submit([=] {
    std::int64_t best = -1;
    for (std::int64_t i = 0; i < n; ++i) {
      const Real<T> a = abs1(px[i * incx]);
      if (best < 0 || (largest ? a > abs1(px[best * incx]) : a < abs1(px[best * incx]))) best = i;
    }
    *index = static_cast<I>(best + 1);
  });
}

template <class T, class I>
cublasStatus_t iamax(const char* name, cublasHandle_t handle, std::int64_t n, const T* x,
                     std::int64_t incx, I* result) {
  return extreme(name, handle, n, x, incx, result, true);
}

template <class T, class I>
cublasStatus_t iamin(const char* name, cublasHandle_t handle, std::int64_t n, const T* x,
                     std::int64_t incx, I* result) {
  return extreme(name, handle, n, x, incx, result, false);
}

template <class T, class S>
cublasStatus_t rot(const char* name, cublasHandle_t handle, std::int64_t n, T* x, std::int64_t incx,
                   T* y, std::int64_t incy, const Real<T>* c, const S* s) {
  Call call(name, handle);
  const Scalar<Real<T>> cosine = call.scalar(c);
  const Scalar<S> sine = call.scalar(s);
  T* px = call.access.out_vector(x, n, incx);
  T* py = call.access.out_vector(y, n, incy);
  return call.submit([=] {
    for (std::int64_t i = 0; i < n; ++i) {
      T& a = at(px, i, n, incx);
      T& b = at(py, i, n, incy);
      const T old = a;
      a = cosine.get() * old + sine.get() * b;
      b = cosine.get() * b - conjugate(sine.get()) * old;
    }
  });
}

template <class T>
cublasStatus_t rotg(const char* name, cublasHandle_t handle, T* a, T* b, Real<T>* c, T* s) {
  Call call(name, handle);
  T* pa = call.result(a);
  T* pb = call.result(b);
  Real<T>* pc = call.result(c);
  T* ps = call.result(s);
  return call.submit([=] { fortran(fortran_symbol<T>("rotg_"), pa, pb, pc, ps); });
}

template <class T>
cublasStatus_t rotm(const char* name, cublasHandle_t handle, std::int64_t n, T* x,
                    std::int64_t incx, T* y, std::int64_t incy, const T* param) {
  Call call(name, handle);
  // The five numbers of `param` lie where scalars lie: on the host or on the device.
  const Scalar<T> p[5] = {call.scalar(param), call.scalar(param + 1), call.scalar(param + 2),
                          call.scalar(param + 3), call.scalar(param + 4)};
  T* px = call.access.out_vector(x, n, incx);
  T* py = call.access.out_vector(y, n, incy);
  const int count = call.size(n);
  return call.submit([=] {
    const T values[5] = {p[0].get(), p[1].get(), p[2].get(), p[3].get(), p[4].get()};
    fortran(fortran_symbol<T>("rotm_"), count, px, static_cast<int>(incx), py,
            static_cast<int>(incy), &values[0]);
  });
}

template <class T>
cublasStatus_t rotmg(const char* name, cublasHandle_t handle, T* d1, T* d2, T* x1, const T* y1,
                     T* param) {
  Call call(name, handle);
  T* pd1 = call.result(d1);
  T* pd2 = call.result(d2);
  T* px1 = call.result(x1);
  const Scalar<T> py1 = call.scalar(y1);
  T* first = call.result(param);
  for (int i = 1; i < 5; ++i) (void)call.result(param + i);
  return call.submit(
      [=] { fortran(fortran_symbol<T>("rotmg_"), pd1, pd2, px1, py1.get(), first); });
}

}  // namespace standin::blas
