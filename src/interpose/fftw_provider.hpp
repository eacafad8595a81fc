#pragma once
// The copies of FFTW in this process. A plan belongs to the copy that made it.

#include "interpose/fftw_plans.hpp"

namespace ob::interpose {

/// Names one precision's functions: {"fftw_", Precision::z}.
struct FftwLibrary {
  const char* prefix;
  Precision precision;
};

/// Finds the functions of the copy that holds `native_function` (one of its public functions).
/// nullptr if the copy has no name for the dynamic linker (it is linked into the program) or lacks
/// one of execute, execute_dft, destroy_plan. Its plans then stay native.
/// Memory: lives as long as the process; the copy stays loaded
/// Threads: any; holds no lock across dlopen and dlsym
const FftwProvider* fftw_provider(const FftwLibrary& library, const void* native_function) noexcept;

/// True if the code at `caller` is in the same shared object as `native_function`. FFTW's makers
/// call each other through the dynamic linker. Its Fortran entries call makers and then execute the
/// plans inside the library.
bool is_same_object(const void* caller, const void* native_function) noexcept;

}  // namespace ob::interpose
