#pragma once
// The text before a kernel's source that makes it valid C++.

namespace standin {

inline constexpr const char* kPrelude = R"prelude(
#include <math.h>
#include <ucontext.h>
#include <bit>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>
#define __global__ __attribute__((standin_kernel))
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
// A block runs on one thread of the host.
#define __shared__ thread_local
#define __align__(n) __attribute__((aligned(n)))
struct StandinDim { unsigned x = 1, y = 1, z = 1; };
static thread_local StandinDim blockIdx, threadIdx, blockDim, gridDim;
static inline void sincospi(double x, double* s, double* c) {
  // Exact reduction, as CUDA's.
  const double r = x - 2.0 * nearbyint(0.5 * x);
  *s = sin(3.14159265358979323846 * r);
  *c = cos(3.14159265358979323846 * r);
  if (r == floor(r)) *s = 0;
  if (r + 0.5 == floor(r + 0.5)) *c = 0;
}
static inline double rsqrt(double x) { return 1 / sqrt(x); }
template <class A, class B> static inline auto min(A a, B b) {
  using T = std::common_type_t<A, B>;
  return T(b) < T(a) ? T(b) : T(a);
}
template <class A, class B> static inline auto max(A a, B b) {
  using T = std::common_type_t<A, B>;
  return T(a) < T(b) ? T(b) : T(a);
}
static inline int __popc(unsigned x) { return std::popcount(x); }
static inline int __popcll(unsigned long long x) { return std::popcount(x); }
static inline int __clz(int x) { return std::countl_zero(unsigned(x)); }
static inline int __clzll(long long x) { return std::countl_zero((unsigned long long)x); }
static inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
static inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
static inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
static inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
static inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
static inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
#define STANDIN_ATOMIC(name, builtin) \
  template <class T> static inline T name(T* p, T v) { return builtin(p, v, __ATOMIC_RELAXED); }
STANDIN_ATOMIC(atomicAdd, __atomic_fetch_add)
STANDIN_ATOMIC(atomicSub, __atomic_fetch_sub)
STANDIN_ATOMIC(atomicAnd, __atomic_fetch_and)
STANDIN_ATOMIC(atomicOr, __atomic_fetch_or)
STANDIN_ATOMIC(atomicXor, __atomic_fetch_xor)
STANDIN_ATOMIC(atomicExch, __atomic_exchange_n)
template <class T> static inline T atomicCAS(T* p, T expected, T v) {
  __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
template <class T, class Choose> static inline T standin_update(T* p, T v, Choose choose) {
  for (T old = *p;;) {
    const T seen = atomicCAS(p, old, choose(old, v));
    if (seen == old) return old;
    old = seen;
  }
}
template <class T> static inline T atomicMin(T* p, T v) {
  return standin_update(p, v, [](T a, T b) { return min(a, b); });
}
template <class T> static inline T atomicMax(T* p, T v) {
  return standin_update(p, v, [](T a, T b) { return max(a, b); });
}
#define STANDIN_VECTORS(T, name) \
  struct alignas(2 * sizeof(T)) name##2 { T x, y; }; \
  struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) name##4 { T x, y, z, w; }; \
  static inline name##2 make_##name##2(T x, T y) { return {x, y}; } \
  static inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
STANDIN_VECTORS(signed char, char)
STANDIN_VECTORS(unsigned char, uchar)
STANDIN_VECTORS(short, short)
STANDIN_VECTORS(unsigned short, ushort)
STANDIN_VECTORS(int, int)
STANDIN_VECTORS(unsigned, uint)
STANDIN_VECTORS(long, long)
STANDIN_VECTORS(unsigned long, ulong)
STANDIN_VECTORS(float, float)
STANDIN_VECTORS(double, double)
// The threads of a block with barriers are fibers: each runs until its next barrier.
namespace standin_kernels {
struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  bool done = false;
};
static thread_local ucontext_t scheduler;
static thread_local Fiber* running;
}
static inline void __syncthreads() {
  swapcontext(&standin_kernels::running->context, &standin_kernels::scheduler);
}
static inline void __threadfence_block() {}
)prelude";

inline constexpr const char* kPostlude = R"postlude(
#ifdef OB_LOCAL_BIND
alignas(16) thread_local unsigned char ob_local_memory[49152];
#endif
extern const bool standin_barriers;
namespace standin_kernels {
struct Bound {
  void (*run)(Bound*, const unsigned*, const unsigned*, int);
  void (*drop)(Bound*);
};
typedef void* (*Translate)(void*, const void*);
template <class P> P load(const void* argument, Translate translate, void* context) {
  P value = *static_cast<const P*>(argument);
  if constexpr (std::is_pointer_v<P>)
    value = reinterpret_cast<P>(translate(context, const_cast<const void*>(
        static_cast<const volatile void*>(value))));
  return value;
}
struct Block {
  const unsigned* size;
  int backwards;
  void enter(unsigned long long t) const {
    threadIdx.x = t % size[0]; threadIdx.y = t / size[0] % size[1];
    threadIdx.z = t / size[0] / size[1];
  }
};
static thread_local void (*entry)(void*);
static thread_local void* entry_argument;
static void begin_fiber() {
  entry(entry_argument);
  running->done = true;
  swapcontext(&running->context, &scheduler);
}
static void run_fibers(const Block& block, unsigned long long threads) {
  constexpr std::size_t kStackBytes = 64 << 10;
  std::vector<Fiber> fibers(threads);
  for (Fiber& fiber : fibers) {
    getcontext(&fiber.context);
    fiber.stack.reset(new char[kStackBytes]);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    makecontext(&fiber.context, begin_fiber, 0);
  }
  for (unsigned long long left = threads; left > 0;) {
    for (unsigned long long i = 0; i < threads; ++i) {
      const unsigned long long t = block.backwards ? threads - 1 - i : i;
      if (fibers[t].done) continue;
      block.enter(t);
      running = &fibers[t];
      swapcontext(&scheduler, &fibers[t].context);
      if (fibers[t].done) --left;
    }
  }
}
template <class Call> struct Holder : Bound {
  Call call;
  explicit Holder(Call c) : call(c) {
    run = [](Bound* self, const unsigned* grid, const unsigned* block, int backwards) {
      gridDim.x = grid[0]; gridDim.y = grid[1]; gridDim.z = grid[2];
      blockDim.x = block[0]; blockDim.y = block[1]; blockDim.z = block[2];
      const unsigned long long blocks = 1ULL * grid[0] * grid[1] * grid[2];
      const unsigned long long threads = 1ULL * block[0] * block[1] * block[2];
      const Block order{block, backwards};
      entry = [](void* holder) { static_cast<Holder*>(static_cast<Bound*>(holder))->call(); };
      entry_argument = self;
      for (unsigned long long i = 0; i < blocks; ++i) {
        const unsigned long long b = backwards ? blocks - 1 - i : i;
        blockIdx.x = b % grid[0]; blockIdx.y = b / grid[0] % grid[1];
        blockIdx.z = b / grid[0] / grid[1];
        if (standin_barriers) {
          run_fibers(order, threads);
          continue;
        }
        for (unsigned long long k = 0; k < threads; ++k) {
          order.enter(backwards ? threads - 1 - k : k);
          entry(entry_argument);
        }
      }
    };
    drop = [](Bound* self) { delete static_cast<Holder*>(self); };
  }
};
template <class... P, std::size_t... I>
Bound* bind(void (*kernel)(P...), void** a, Translate t, void* c, std::index_sequence<I...>) {
  auto call = [kernel, ... values = load<P>(a[I], t, c)] { kernel(values...); };
  return new Holder<decltype(call)>(call);
}
template <class... P> Bound* bind(void (*kernel)(P...), void** a, Translate t, void* c) {
  return bind(kernel, a, t, c, std::index_sequence_for<P...>());
}
}
#define STANDIN_BIND(name) extern "C" __attribute__((visibility("default"))) \
  standin_kernels::Bound* standin_bind_##name(void** a, standin_kernels::Translate t, void* c) { \
    return standin_kernels::bind(&name, a, t, c); \
  }
)postlude";

}  // namespace standin
