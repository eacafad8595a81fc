#pragma once
// Between the stand-in for the driver and kernels that the stand-in for NVRTC made: the same
// declarations stand in nvrtc/prelude.hpp's text.

#include <cstdint>

namespace standin {

/// Arguments of one launch, copied, with addresses that can be followed.
struct BoundKernel {
  /// All threads, one after the other, backwards if so told.
  void (*run)(BoundKernel* self, const unsigned* grid, const unsigned* block, int backwards);
  void (*drop)(BoundKernel* self);
};

/// Where the bytes of a device's address are.
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
