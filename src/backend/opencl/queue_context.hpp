#pragma once
// The resources of work on one queue.

#include <cstdint>
#include <memory>
#include <new>

#include "backend/opencl/kernels.hpp"
#include "backend/opencl/libraries.hpp"
#include "backend/opencl/memory.hpp"
#include "device/column_copy.hpp"
#include "device/device_memory.hpp"
#include "device/host_routines.hpp"
#include "device/work_area.hpp"

namespace ob::opencl {

/// One per queue. Threads: the queue's worker
struct QueueContext {
  const Cl& cl;
  const Accelerator& accelerator;
  const ClMemory& memory;
  cl_command_queue queue;  ///< in order
  WorkArea& work;
  DeviceMemory& counted;  ///< counts the memory that libraries allocate by themselves
  const Libraries& libraries;
  const HostRoutines* host;  ///< the processor's library, or nullptr

  enum class Way { to_device, to_host, inside };
  /// Returns a function that submits copies in one direction. Host memory must not change until
  /// synchronize().   Errors of that function: device_error
  CopyColumns copies(Way way) const;
  /// Waits for all submitted work.   Errors: device_error
  Status synchronize() const;
};

/// Host memory that a command needs, uninitialised.
struct HostBlock {
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* at) const { ::operator delete(at, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> data;
  std::uint64_t size_bytes = 0;

  /// Errors: out_of_memory
  static Result<HostBlock> allocate(std::uint64_t size_bytes);
};

}  // namespace ob::opencl
