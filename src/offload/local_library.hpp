#pragma once
// Finds out which kind of library computes locally, and the peak of its kernels.

#include "offload/processor.hpp"
#include "policy/shipped_rates.hpp"

namespace ob::offload {

/// The library that holds `function`, as the shipped rates need it. OpenBLAS and BLIS tell the core
/// type of their kernels. For other tuned libraries, the kernels are expected to use all that the
/// processor has. The kind is unknown if nothing identifies the library.
/// Threads: any; asks the dynamic linker   Cost: that of clock_hz() at the first call
policy::LocalLibrary local_library(const void* function) noexcept;

/// Returns the operations per cycle of one core that runs kernels of this core type. An empty or
/// unknown type counts as the processor's own. Kernels for other processors may be wider than the
/// units of this one, or narrower.
double flop_per_cycle(const Processor& processor, std::string_view core) noexcept;

}  // namespace ob::offload
