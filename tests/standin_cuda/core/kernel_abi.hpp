#pragma once
// The interface between the stand-in for the driver and the kernels that the stand-in for NVRTC
// makes. The text in nvrtc/prelude.hpp contains the same declarations.

#include <cstdint>

namespace standin {

/// The copied arguments of one launch; its addresses can be dereferenced.
struct BoundKernel {
  /// Runs all threads one after the other, backwards on request.
  void (*run)(BoundKernel* self, const unsigned* grid, const unsigned* block, int backwards);
  void (*drop)(BoundKernel* self);
};

/// Returns the place of the bytes of a device's address.
using Translate = void* (*)(void* context, const void* p);
using Bind = BoundKernel* (*)(void** arguments, Translate translate, void* context);

/// The header before the shared object in a "cubin".
struct CubinHeader {
  char magic[16];
  std::uint64_t object_bytes;
  std::uint32_t architecture;  ///< 90 for sm_90
  std::uint32_t reserved;
};
inline constexpr char kCubinMagic[16] = "STANDIN-CUBIN-1";

}  // namespace standin
