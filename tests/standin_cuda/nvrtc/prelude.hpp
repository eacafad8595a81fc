#pragma once
// The text before a kernel's source that makes it valid C++.

namespace standin {

inline constexpr const char* kPrelude = R"prelude(
#include <math.h>
#include <cstddef>
#include <type_traits>
#include <utility>
#define __global__ __attribute__((standin_kernel))
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
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
)prelude";

inline constexpr const char* kPostlude = R"postlude(
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
template <class Call> struct Holder : Bound {
  Call call;
  explicit Holder(Call c) : call(c) {
    run = [](Bound* self, const unsigned* grid, const unsigned* block, int backwards) {
      gridDim.x = grid[0]; gridDim.y = grid[1]; gridDim.z = grid[2];
      blockDim.x = block[0]; blockDim.y = block[1]; blockDim.z = block[2];
      const unsigned long long blocks = 1ULL * grid[0] * grid[1] * grid[2];
      const unsigned long long threads = 1ULL * block[0] * block[1] * block[2];
      for (unsigned long long i = 0; i < blocks * threads; ++i) {
        const unsigned long long at = backwards ? blocks * threads - 1 - i : i;
        const unsigned long long b = at / threads, t = at % threads;
        blockIdx.x = b % grid[0]; blockIdx.y = b / grid[0] % grid[1];
        blockIdx.z = b / grid[0] / grid[1];
        threadIdx.x = t % block[0]; threadIdx.y = t / block[0] % block[1];
        threadIdx.z = t / block[0] / block[1];
        static_cast<Holder*>(self)->call();
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
