#pragma once
// The resources of work on one stream.

#include "backend/cuda/handles.hpp"
#include "backend/cuda/libraries.hpp"
#include "backend/cuda/pinned_pool.hpp"
#include "base/accuracy.hpp"
#include "device/column_copy.hpp"
#include "device/host_routines.hpp"
#include "device/work_area.hpp"

namespace ob::cuda {

/// One per queue. Threads: the one that submits, on which the device is current
struct StreamContext {
  const Libraries& libraries;
  int device;  ///< ordinal
  cudaStream_t stream;
  WorkArea& work;
  PinnedPool& pinned;  ///< for info, scalars, operands of host routines
  Handles& handles;
  const HostRoutines* host;  ///< the processor's library, or nullptr
  Accuracy accuracy = Accuracy::standard;

  const Runtime& runtime() const noexcept { return libraries.runtime(); }
  /// Waits for all work submitted to the stream.   Errors: device_error
  Status synchronize() const;
  /// Returns a function that submits copies of a kind.   Errors of that function: device_error
  CopyColumns copies(cudaMemcpyKind kind) const;
};

}  // namespace ob::cuda
