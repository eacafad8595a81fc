#pragma once
// The peak of one core: how many operations its vector units, or the kernels of a library, do in a
// cycle, and how long a cycle is.

#include <cstdint>
#include <string_view>

namespace ob::offload {

/// The facts about a processor that determine the width of its arithmetic.
struct Processor {
  enum class Vendor : std::uint8_t { other, intel, amd };
  enum class Vectors : std::uint8_t { scalar, sse2, avx, avx2_fma, avx512, neon };
  Vendor vendor = Vendor::other;
  unsigned family = 0;  ///< x86: of cpuid, with the extended family
  unsigned model = 0;
  Vectors vectors = Vectors::scalar;
};

/// Asks the processor, and the system about the vectors that it permits.   Threads: any
Processor this_processor() noexcept;

/// Returns the double-precision operations per cycle of one core.
/// Source: Intel 64 and IA-32 Architectures Optimization Reference Manual; Software Optimization
/// Guides of AMD (families 17h, 19h, 1Ah) and of Arm (Neoverse, Cortex)
double flop_per_cycle(const Processor& processor) noexcept;

/// Returns the same for the vectors that the kernels of a core type use, at most; 0 if the name is
/// unknown. The names are those of OpenBLAS and BLIS, in upper or lower case: "SkylakeX", "zen3".
double flop_per_cycle_of_core(std::string_view core) noexcept;

/// Returns the core type in OpenBLAS's description of itself; empty if it has none that is known.
/// "OpenBLAS 0.3.21 DYNAMIC_ARCH NO_AFFINITY SkylakeX MAX_THREADS=64" yields "SkylakeX".
std::string_view core_type_of(std::string_view config) noexcept;

/// Returns the present clock of a core, from the time of a chain of dependent additions. The
/// nominal clock in /proc/cpuinfo is wrong in virtual machines, and where the clock varies.
/// Units: Hz   Threads: any   Cost: up to 100 us, once per process
double clock_hz() noexcept;

}  // namespace ob::offload
