// The text in front of portable sources for NVRTC. Words without underscores, such as `global`, are
// no macros, because CUDA's own marks contain them. CUDA stores vectors of four long or double
// numbers at multiples of 16 bytes, and OpenCL at multiples of 32.
#define cl_khr_fp64 1
#define __kernel extern "C" __global__
#define __global
#define __constant const
#define __local __shared__
#define __private
#define restrict __restrict__
#define reqd_work_group_size(x, y, z)
#define OB_LOCAL_PTR(type) type*
#define OB_LOCAL_ARG(type, name) unsigned int ob_offset_of_##name
#define OB_LOCAL_BIND(type, name) \
  type* const name = reinterpret_cast<type*>(ob_local_memory + ob_offset_of_##name)
extern __shared__ __align__(16) unsigned char ob_local_memory[];

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#define OB_PLACE(name, x_, y_, z_, none) \
  inline size_t name(uint d) { return d == 0 ? x_ : d == 1 ? y_ : d == 2 ? z_ : none; }
OB_PLACE(get_local_id, threadIdx.x, threadIdx.y, threadIdx.z, 0)
OB_PLACE(get_group_id, blockIdx.x, blockIdx.y, blockIdx.z, 0)
OB_PLACE(get_local_size, blockDim.x, blockDim.y, blockDim.z, 1)
OB_PLACE(get_num_groups, gridDim.x, gridDim.y, gridDim.z, 1)
inline size_t get_global_id(uint d) {
  return get_group_id(d) * get_local_size(d) + get_local_id(d);
}
inline size_t get_global_size(uint d) { return get_num_groups(d) * get_local_size(d); }
inline uint get_work_dim() { return 3; }

#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define barrier(flags) __syncthreads()
#define mem_fence(flags) __threadfence_block()
#define read_mem_fence(flags) __threadfence_block()
#define write_mem_fence(flags) __threadfence_block()

#define OB_ATOMICS(T) \
  inline T atomic_add(volatile T* p, T v) { return atomicAdd((T*)p, v); } \
  inline T atomic_sub(volatile T* p, T v) { return atomicSub((T*)p, v); } \
  inline T atomic_inc(volatile T* p) { return atomicAdd((T*)p, (T)1); } \
  inline T atomic_dec(volatile T* p) { return atomicSub((T*)p, (T)1); } \
  inline T atomic_xchg(volatile T* p, T v) { return atomicExch((T*)p, v); } \
  inline T atomic_cmpxchg(volatile T* p, T c, T v) { return atomicCAS((T*)p, c, v); } \
  inline T atomic_min(volatile T* p, T v) { return atomicMin((T*)p, v); } \
  inline T atomic_max(volatile T* p, T v) { return atomicMax((T*)p, v); } \
  inline T atomic_and(volatile T* p, T v) { return atomicAnd((T*)p, v); } \
  inline T atomic_or(volatile T* p, T v) { return atomicOr((T*)p, v); } \
  inline T atomic_xor(volatile T* p, T v) { return atomicXor((T*)p, v); }
OB_ATOMICS(int)
OB_ATOMICS(uint)

template <class T> inline T clamp(T x, T low, T high) { return min(max(x, low), high); }
inline int popcount(int x) { return __popc((uint)x); }
inline uint popcount(uint x) { return __popc(x); }
inline long popcount(long x) { return __popcll((ulong)x); }
inline ulong popcount(ulong x) { return __popcll(x); }
inline int clz(int x) { return __clz(x); }
inline uint clz(uint x) { return __clz((int)x); }
inline long clz(long x) { return __clzll(x); }
inline ulong clz(ulong x) { return __clzll((long)x); }
inline int as_int(float x) { return __float_as_int(x); }
inline int as_int(uint x) { return (int)x; }
inline uint as_uint(float x) { return __float_as_uint(x); }
inline uint as_uint(int x) { return (uint)x; }
inline float as_float(int x) { return __int_as_float(x); }
inline float as_float(uint x) { return __uint_as_float(x); }
inline long as_long(double x) { return __double_as_longlong(x); }
inline ulong as_ulong(double x) { return (ulong)__double_as_longlong(x); }
inline double as_double(long x) { return __longlong_as_double(x); }
inline double as_double(ulong x) { return __longlong_as_double((long)x); }
#define convert_char(x) ((char)(x))
#define convert_uchar(x) ((uchar)(x))
#define convert_short(x) ((short)(x))
#define convert_ushort(x) ((ushort)(x))
#define convert_int(x) ((int)(x))
#define convert_uint(x) ((uint)(x))
#define convert_long(x) ((long)(x))
#define convert_ulong(x) ((ulong)(x))
#define convert_float(x) ((float)(x))
#define convert_double(x) ((double)(x))

#define OB_OPERATOR2(V, T, op) \
  inline V operator op(V a, V b) { return make_##V(a.x op b.x, a.y op b.y); } \
  inline V operator op(V a, T b) { return make_##V(a.x op b, a.y op b); } \
  inline V operator op(T a, V b) { return make_##V(a op b.x, a op b.y); } \
  inline V& operator op##=(V& a, V b) { return a = a op b; } \
  inline V& operator op##=(V& a, T b) { return a = a op b; }
#define OB_OPERATOR4(V, T, op) \
  inline V operator op(V a, V b) { \
    return make_##V(a.x op b.x, a.y op b.y, a.z op b.z, a.w op b.w); \
  } \
  inline V operator op(V a, T b) { return make_##V(a.x op b, a.y op b, a.z op b, a.w op b); } \
  inline V operator op(T a, V b) { return make_##V(a op b.x, a op b.y, a op b.z, a op b.w); } \
  inline V& operator op##=(V& a, V b) { return a = a op b; } \
  inline V& operator op##=(V& a, T b) { return a = a op b; }
#define OB_VECTORS(T) \
  OB_OPERATOR2(T##2, T, +) OB_OPERATOR2(T##2, T, -) OB_OPERATOR2(T##2, T, *) \
  OB_OPERATOR2(T##2, T, /) OB_OPERATOR4(T##4, T, +) OB_OPERATOR4(T##4, T, -) \
  OB_OPERATOR4(T##4, T, *) OB_OPERATOR4(T##4, T, /) \
  inline T##2 operator-(T##2 a) { return make_##T##2(-a.x, -a.y); } \
  inline T##4 operator-(T##4 a) { return make_##T##4(-a.x, -a.y, -a.z, -a.w); }
OB_VECTORS(char)
OB_VECTORS(uchar)
OB_VECTORS(short)
OB_VECTORS(ushort)
OB_VECTORS(int)
OB_VECTORS(uint)
OB_VECTORS(long)
OB_VECTORS(ulong)
OB_VECTORS(float)
OB_VECTORS(double)

#define M_E 2.7182818284590452354
#define M_PI 3.14159265358979323846
#define M_PI_F 3.14159274101257f
#define M_SQRT2 1.41421356237309504880
#define FLT_MAX 0x1.fffffep127f
#define FLT_MIN 0x1.0p-126f
#define FLT_EPSILON 0x1.0p-23f
#define DBL_MAX 0x1.fffffffffffffp1023
#define DBL_MIN 0x1.0p-1022
#define DBL_EPSILON 0x1.0p-52
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define LONG_MAX 0x7fffffffffffffffL
#define LONG_MIN (-0x7fffffffffffffffL - 1)
#define ULONG_MAX 0xffffffffffffffffUL
