#pragma once
// BLAS and LAPACK routines on a stream.

#include "backend/cuda/stream_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::cuda {

/// Threads: the one that submits
class Routines {
 public:
  /// True if run() knows the routine. The libraries may be absent all the same.
  static bool has(const Descriptor& routine) noexcept;

  /// Submits a checked call to the stream, with the reference's meaning of every argument. Some
  /// routines wait for the stream. Memory operands are Argument::host that hold device pointers
  /// (nullptr where nothing is referenced). Pivots that are read point into their matrix.
  /// Errors: unsupported; unavailable without the library; out_of_memory; device_error
  static Status run(StreamContext& context, const Descriptor& routine, const Argument* arguments);
};

}  // namespace ob::cuda
