// Kernels for functions that CLBlast lacks, in OpenCL C 1.2.
//
// Each element (row, column) has a work-item. There are some work-items more, because work-groups
// have a size of their own. Matrices are column-major, with offsets and leading dimensions in
// elements. OB_FP64 is defined if the device has double precision.

#ifdef OB_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

inline int in_triangle(int triangle, long row, long col) {
  return triangle == 0 || (triangle == 1 ? row <= col : row >= col);
}

// A := s A, for one triangle or all of A. s = 0 clears all values, also NaN. The diagonal of a
// Hermitian matrix becomes real.
#define OB_SCALE(p, Real, T, times, real_part)                                                     \
  __kernel void ob_scale_##p(long rows, long cols, int triangle, int hermitian, Real re, Real im,  \
                             __global T* a, long offset, long lda) {                               \
    const long row = get_global_id(0);                                                             \
    const long col = get_global_id(1);                                                             \
    if (row >= rows || col >= cols || !in_triangle(triangle, row, col)) return;                    \
    __global T* element = a + offset + row + col * lda;                                            \
    T value = re == 0 && im == 0 ? (T)(0) : times(*element, re, im);                               \
    *element = hermitian != 0 && row == col ? real_part(value) : value;                            \
  }

// B := A, one triangle or all of it.
#define OB_COPY(p, T)                                                                              \
  __kernel void ob_copy_##p(long rows, long cols, int triangle, __global const T* a,               \
                            long a_offset, long lda, __global T* b, long b_offset, long ldb) {     \
    const long row = get_global_id(0);                                                             \
    const long col = get_global_id(1);                                                             \
    if (row >= rows || col >= cols || !in_triangle(triangle, row, col)) return;                    \
    b[b_offset + row + col * ldb] = a[a_offset + row + col * lda];                                 \
  }

#define OB_REAL_TIMES(a, re, im) ((a) * (re))
#define OB_REAL_PART(a) (a)

inline float2 times_c(float2 a, float re, float im) {
  return (float2)(re * a.x - im * a.y, re * a.y + im * a.x);
}
inline float2 real_part_c(float2 a) { return (float2)(a.x, 0); }

OB_SCALE(s, float, float, OB_REAL_TIMES, OB_REAL_PART)
OB_SCALE(c, float, float2, times_c, real_part_c)
OB_COPY(s, float)
OB_COPY(c, float2)

#ifdef OB_FP64
inline double2 times_z(double2 a, double re, double im) {
  return (double2)(re * a.x - im * a.y, re * a.y + im * a.x);
}
inline double2 real_part_z(double2 a) { return (double2)(a.x, 0); }

OB_SCALE(d, double, double, OB_REAL_TIMES, OB_REAL_PART)
OB_SCALE(z, double, double2, times_z, real_part_z)
OB_COPY(d, double)
OB_COPY(z, double2)

// The axes of A in the order in which they lie in B, which has no gaps (permute.cpp has the same
// struct).
struct ob_axes {
  long extent[8];
  long from[8];
  long rank;
};

// B := alpha A permuted + beta B. A factor of 0 keeps its operand from being read.
__kernel void ob_permute_d(long count, long one, struct ob_axes axes, double alpha,
                           __global const double* a, long a_offset, double beta, __global double* b,
                           long b_offset) {
  const long i = get_global_id(0);
  if (i >= count) return;
  long left = i;
  long place = a_offset;
  for (long axis = 0; axis < axes.rank; ++axis) {
    place += left % axes.extent[axis] * axes.from[axis];
    left /= axes.extent[axis];
  }
  const double added = alpha == 0 ? 0 : alpha * a[place];
  __global double* element = b + b_offset + i;
  *element = beta == 0 ? added : beta * *element + added;
}
#endif
