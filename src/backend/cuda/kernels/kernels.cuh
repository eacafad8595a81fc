// Kernels for functions that NVIDIA's libraries lack. They are compiled on first use, or as C++ by
// a stand-in.
//
// Each thread computes one element, and then the one that lies as many elements further on as there
// are threads, and so on. There are no includes, barriers or shared memory. Matrices are
// column-major, with sizes and leading dimensions in elements. A vector with an increment is a
// matrix of one row.

namespace ob_kernels {

template <class Real>
struct Complex {
  Real x;
  Real y;
};

enum Triangle { kFull = 0, kUpper = 1, kLower = 2 };

__device__ inline long long first_index() {
  return (long long)blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ inline long long index_step() { return (long long)gridDim.x * blockDim.x; }

__device__ inline bool in_triangle(int triangle, long long row, long long col) {
  return triangle == kFull || (triangle == kUpper ? row <= col : row >= col);
}

template <class Real>
__device__ inline void scale(Real& a, double re, double) {
  a = re == 0 ? Real(0) : a * Real(re);
}
template <class Real>
__device__ inline void scale(Complex<Real>& a, double re, double im) {
  const Real x = Real(re);
  const Real y = Real(im);
  const Complex<Real> old = a;
  if (re == 0 && im == 0) {
    a.x = a.y = Real(0);
  } else {
    a.x = x * old.x - y * old.y;
    a.y = x * old.y + y * old.x;
  }
}
template <class Real>
__device__ inline void drop_imaginary(Real&) {}
template <class Real>
__device__ inline void drop_imaginary(Complex<Real>& a) {
  a.y = Real(0);
}

// A := s A, for one triangle or all of A. s = 0 clears all values, also NaN. The diagonal of a
// Hermitian matrix becomes real.
template <class T>
__device__ inline void scale_matrix(int triangle, int hermitian, long long rows, long long cols,
                                    double re, double im, T* a, long long lda) {
  for (long long i = first_index(); i < rows * cols; i += index_step()) {
    const long long row = i % rows;
    const long long col = i / rows;
    if (!in_triangle(triangle, row, col)) continue;
    T& element = a[row + col * lda];
    scale(element, re, im);
    if (hermitian != 0 && row == col) drop_imaginary(element);
  }
}

// B := A, one triangle or all of it.
template <class T>
__device__ inline void copy_matrix(int triangle, long long rows, long long cols, const T* a,
                                   long long lda, T* b, long long ldb) {
  for (long long i = first_index(); i < rows * cols; i += index_step()) {
    const long long row = i % rows;
    const long long col = i / rows;
    if (in_triangle(triangle, row, col)) b[row + col * ldb] = a[row + col * lda];
  }
}

// The axes of A in the order in which they lie in B, which has no gaps (permute.cpp has the same
// struct).
struct Axes {
  long long extent[8];
  long long from[8];
  int rank;
};

// B := alpha A permuted + beta B. A factor of 0 keeps its operand from being read.
template <class T>
__device__ inline void permute(long long count, const Axes& axes, T alpha, const T* a, T beta,
                               T* b) {
  for (long long i = first_index(); i < count; i += index_step()) {
    long long left = i;
    long long place = 0;
    for (int axis = 0; axis < axes.rank; ++axis) {
      place += left % axes.extent[axis] * axes.from[axis];
      left /= axes.extent[axis];
    }
    const T added = alpha == 0 ? T(0) : alpha * a[place];
    b[i] = beta == 0 ? added : beta * b[i] + added;
  }
}

template <class Real>
__device__ inline void set_real(Real& a, double value) {
  a = Real(value);
}
template <class Real>
__device__ inline void set_real(Complex<Real>& a, double value) {
  a.x = Real(value);
  a.y = Real(0);
}

// A := I.
template <class T>
__device__ inline void set_identity(long long rows, long long cols, T* a, long long lda) {
  for (long long i = first_index(); i < rows * cols; i += index_step()) {
    const long long row = i % rows;
    const long long col = i / rows;
    set_real(a[row + col * lda], row == col ? 1 : 0);
  }
}

}  // namespace ob_kernels

#define OB_KERNELS_OF(p, T)                                                                        \
  extern "C" __global__ void ob_scale_##p(int triangle, int hermitian, long long rows,             \
                                          long long cols, double re, double im, T* a,              \
                                          long long lda) {                                         \
    ob_kernels::scale_matrix<T>(triangle, hermitian, rows, cols, re, im, a, lda);                  \
  }                                                                                                \
  extern "C" __global__ void ob_copy_##p(int triangle, long long rows, long long cols, const T* a, \
                                         long long lda, T* b, long long ldb) {                     \
    ob_kernels::copy_matrix<T>(triangle, rows, cols, a, lda, b, ldb);                              \
  }                                                                                                \
  extern "C" __global__ void ob_identity_##p(long long rows, long long cols, T* a,                 \
                                             long long lda) {                                      \
    ob_kernels::set_identity<T>(rows, cols, a, lda);                                               \
  }

OB_KERNELS_OF(s, float)
OB_KERNELS_OF(d, double)
OB_KERNELS_OF(c, ob_kernels::Complex<float>)
OB_KERNELS_OF(z, ob_kernels::Complex<double>)

extern "C" __global__ void ob_permute_d(long long count, ob_kernels::Axes axes, double alpha,
                                        const double* a, double beta, double* b) {
  ob_kernels::permute<double>(count, axes, alpha, a, beta, b);
}

// Widens the pivots of functions that know only 32-bit ones.
extern "C" __global__ void ob_widen(long long count, const int* narrow, long long* wide) {
  for (long long i = ob_kernels::first_index(); i < count; i += ob_kernels::index_step()) {
    wide[i] = narrow[i];
  }
}
