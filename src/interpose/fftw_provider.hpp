#pragma once
// The copies of FFTW in this process. A plan belongs to the copy that made it.

#include "interpose/fftw_plans.hpp"

namespace ob::interpose {

/// Names one precision's functions: {"fftw_", Precision::z}.
struct FftwLibrary {
  const char* prefix;
  Precision precision;
};

/// Functions of the copy that holds `native_function` (one of its public functions).
/// nullptr if that copy cannot be named to the dynamic linker (it is linked into the program) or
/// lacks one of execute, execute_dft, destroy_plan: then its plans are left alone.
/// Memory: lives as long as the process; the copy stays loaded
/// Threads: any; holds no lock across dlopen and dlsym
const FftwProvider* fftw_provider(const FftwLibrary& library, const void* native_function) noexcept;

/// True if the code at `caller` is in the same shared object as `native_function`: FFTW's makers
/// call each other through the dynamic linker, and its Fortran entries call makers whose plans they
/// then execute inside.
bool is_same_object(const void* caller, const void* native_function) noexcept;

}  // namespace ob::interpose
