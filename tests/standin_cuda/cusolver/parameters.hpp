#pragma once
// The parameters object that functions for any type take beside their handle.

#include <cusolverDn.h>

#include <complex>

#include "core/live_set.hpp"

namespace standin::solver {

/// The object behind a cusolverDnParams_t. It selects algorithms; the stand-in has only one of
/// each.
struct Parameters {};

inline LiveSet<Parameters>& parameters() {
  static auto* const kParameters = new LiveSet<Parameters>("cusolver parameter set(s)");
  return *kParameters;
}

/// Calls f(T{}) with the type that `type` names. Returns `otherwise` if it is none of the four.
template <class Result, class F>
Result of_type(cudaDataType type, Result otherwise, F f) {
  switch (type) {
    case CUDA_R_32F: return f(float{});
    case CUDA_R_64F: return f(double{});
    case CUDA_C_32F: return f(std::complex<float>{});
    case CUDA_C_64F: return f(std::complex<double>{});
    default: return otherwise;
  }
}

/// Returns the type of norms for a type.
inline cudaDataType real_of(cudaDataType type) {
  if (type == CUDA_C_32F) return CUDA_R_32F;
  return type == CUDA_C_64F ? CUDA_R_64F : type;
}

}  // namespace standin::solver
