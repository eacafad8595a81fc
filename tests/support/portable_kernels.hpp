#pragma once
// Portable kernels, for devices that run them and compilers that only read them.

namespace ob::test {

inline constexpr const char* kAxpy = R"(
__kernel void axpy(double a, __global const double* x, __global double* y, ulong n) {
  const ulong i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}
)";

// Local memory both of the source's and of the launch's size, and barriers.
inline constexpr const char* kProduct = R"(
#define T 8
__kernel __attribute__((reqd_work_group_size(T, T, 1)))
void product(int n, __global const double* a, __global const double* b, __global double* c,
             OB_LOCAL_ARG(double, of_b)) {
  OB_LOCAL_BIND(double, of_b);
  __local double of_a[T * T];
  const int i = get_global_id(0), j = get_global_id(1);
  const int r = get_local_id(0), s = get_local_id(1);
  double sum = 0;
  for (int k = 0; k < n; k += T) {
    of_a[r + T * s] = i < n && k + s < n ? a[i + n * (k + s)] : 0;
    of_b[r + T * s] = k + r < n && j < n ? b[k + r + n * j] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int l = 0; l < T && k + l < n; ++l) sum += of_a[r + T * l] * of_b[l + T * s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < n && j < n) c[i + n * j] = sum;
}
)";

inline constexpr const char* kHistogram = R"(
static uint bin(uint value, uint bins) { return value % bins; }
__kernel void histogram(__global const uint* values, uint n, __global uint* counts, uint bins,
                        __global uint* highest) {
  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
    atomic_add(&counts[bin(values[i], bins)], 1u);
    atomic_max(highest, values[i]);
  }
}
)";

inline constexpr const char* kPlaces = R"(
__kernel void places(__global uint* out) {
  const uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  const uint at = x + get_global_size(0) * (y + get_global_size(1) * z);
  uint code = 0;
  for (uint d = 0; d < 3; ++d) {
    code = code * 7 + get_local_id(d);
    code = code * 11 + get_group_id(d);
    code = code * 7 + get_local_size(d);
    code = code * 11 + get_num_groups(d);
  }
  out[at] = code + get_work_dim();
}
)";

inline constexpr const char* kVectors = R"(
__kernel void turn(__global float4* v, __global const double2* w, __global double* out, uint n) {
  const uint i = get_global_id(0);
  if (i >= n) return;
  const float4 old = v[i];
  v[i] = make_float4(old.w, old.x, old.y, old.z);
  const double2 sum = w[i] + make_double2(1.0, 2.0);
  out[i] = sum.x * sum.y;
}
)";

inline constexpr const char* kAllTypes = R"(
__kernel void keep(char a, uchar b, short c, ushort d, int e, uint f, long g, ulong h, float i,
                   double j, float4 k, int2 l, __global uchar* out) {
  __global long* const whole = (__global long*)out;
  __global double* const real = (__global double*)(out + 64);
  whole[0] = a; whole[1] = b; whole[2] = c; whole[3] = d;
  whole[4] = e; whole[5] = f; whole[6] = g; whole[7] = (long)h;
  real[0] = i; real[1] = j;
  real[2] = k.x; real[3] = k.y; real[4] = k.z; real[5] = k.w;
  real[6] = l.x; real[7] = l.y;
}
)";

// y <- y * factor + term, in exact numbers
inline constexpr const char* kStep = R"(
__kernel void advance(__global double* y, double factor, double term, uint n) {
  const uint i = get_global_id(0);
  if (i < n) y[i] = y[i] * factor + term;
}
)";

// Functions whose results are exact, and pointers to local memory in other functions.
inline constexpr const char* kFunctions = R"(
static uint sum_of(OB_LOCAL_PTR(const uint) first, uint count) {
  uint sum = 0;
  for (uint i = 0; i < count; ++i) sum += first[i];
  return sum;
}
__kernel void functions(__global const uint* in, __global ulong* out, __constant int* factors) {
  __local uint all[4];
  const uint item = get_local_id(0);
  all[item] = in[item];
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (item != 0) return;
  const uint a = in[0], b = in[1];
  const float f = (float)a * 0.25f;
  const double d = (double)b * 0.125;
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  out[0] = sum_of(all, 4);
  out[1] = popcount(a) + 100 * popcount((ulong)b);
  out[2] = clz(a | 1u) + 100 * clz((ulong)b | 1);
  out[3] = as_uint(f);
  out[4] = as_ulong(d);
  out[5] = as_uint(as_float(as_int(f)));
  out[6] = convert_ulong(convert_uchar(a & 255u)) + convert_uint(f > 1e6f ? 3.7f : 2.2f);
  out[7] = max(a, b) - min(a, b);
  out[8] = clamp(a, 1000u, 2000u);
  out[9] = as_ulong(fma(d, d, -1.0));
  out[10] = as_ulong(floor(d) + ceil(d) + rint(d) + trunc(d) + fabs(-d) + fmin(d, 1.0));
  out[11] = as_ulong(sqrt(d));
  out[12] = (ulong)(long)factors[1];
  out[13] = as_ulong(M_PI) ^ as_uint(FLT_MAX) ^ (INT_MAX + 0u);
  out[14] = isnan(NAN) && isinf(INFINITY) && !isnan(d) ? 1 : 0;
}
)";

inline constexpr const char* kVectorOperators = R"(
__kernel void operators(__global int4* v, __global double2* w) {
  int4 sum = v[0] + v[1];
  sum += make_int4(1, 2, 3, 4);
  sum = (sum - v[1] * 3) / 2;
  sum *= -v[0];
  v[2] = 5 - sum;
  double2 x = w[0] * w[1] - 2.0;
  x /= w[1];
  w[2] = -(1.0 + x);
}
)";

inline constexpr const char* kAtomics = R"(
__kernel void atomics(__global int* s, __global uint* u) {
  __local int here[1];
  const int i = get_local_id(0);
  if (i == 0) here[0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&here[0], i);
  atomic_inc(&s[0]);
  atomic_dec(&s[1]);
  atomic_sub(&s[2], i);
  atomic_min(&s[3], -i);
  atomic_max(&s[4], i);
  atomic_or(&u[0], 1u << i);
  atomic_and(&u[1], ~(1u << i));
  atomic_xor(&u[2], 1u << i);
  atomic_cmpxchg(&u[3], (uint)i, (uint)i + 1u);
  if (i == 3) atomic_xchg(&u[4], 77u);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i == 0) s[5] = here[0];
}
)";

inline constexpr const char* kPortableKernels[] = {
    kAxpy,      kProduct,         kHistogram, kPlaces,   kVectors,
    kFunctions, kVectorOperators, kAtomics,   kAllTypes, kStep};

}  // namespace ob::test
