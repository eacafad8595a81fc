#pragma once
// The four number types, and calls of Fortran routines of the library that computes.

#include <cuComplex.h>

#include <complex>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace standin {

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
template <class T>
inline constexpr bool kComplex = !std::is_same_v<T, Real<T>>;

/// The letter of a type: s, d, c or z.
template <class T>
inline constexpr char kLetter = std::is_same_v<T, float>                 ? 's'
                                : std::is_same_v<T, double>              ? 'd'
                                : std::is_same_v<T, std::complex<float>> ? 'c'
                                                                         : 'z';

template <class T>
T conjugate(T a) {
  if constexpr (kComplex<T>) return std::conj(a);
  return a;
}

/// Converts arguments of NVIDIA's functions to our types.
template <class T>
T as(T value) {
  return value;
}
inline auto as(const cuComplex* p) { return reinterpret_cast<const std::complex<float>*>(p); }
inline auto as(cuComplex* p) { return reinterpret_cast<std::complex<float>*>(p); }
inline auto as(const cuDoubleComplex* p) {
  return reinterpret_cast<const std::complex<double>*>(p);
}
inline auto as(cuDoubleComplex* p) { return reinterpret_cast<std::complex<double>*>(p); }
inline auto as(const cuComplex* const* p) {
  return reinterpret_cast<const std::complex<float>* const*>(p);
}
inline auto as(cuComplex* const* p) { return reinterpret_cast<std::complex<float>* const*>(p); }
inline auto as(const cuDoubleComplex* const* p) {
  return reinterpret_cast<const std::complex<double>* const*>(p);
}
inline auto as(cuDoubleComplex* const* p) {
  return reinterpret_cast<std::complex<double>* const*>(p);
}

/// Returns the function of OpenBLAS with that name, nullptr if there is none. `stem` lacks the
/// type's letter; with `symbol` it is the whole name.
void* fortran_symbol(const char* symbol);
template <class T>
void* fortran_symbol(const char* stem) {
  char name[24] = {kLetter<T>};
  for (int i = 0; stem[i] != '\0' && i < 21; ++i) name[i + 1] = stem[i];
  return fortran_symbol(name);
}

namespace detail {
template <class A>
const void* address(const A& a) {
  if constexpr (std::is_pointer_v<A>) {
    return a;
  } else {
    return &a;
  }
}
template <class>
using Pointer = const void*;
}  // namespace detail

/// Calls a Fortran routine. Pointers pass unchanged, values by address, characters with lengths.
template <class... A>
void fortran(void* function, const A&... a) {
  using Function =
      void (*)(detail::Pointer<A>..., std::size_t, std::size_t, std::size_t, std::size_t);
  reinterpret_cast<Function>(function)(detail::address(a)..., 1, 1, 1, 1);
}

}  // namespace standin
