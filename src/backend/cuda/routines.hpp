#pragma once
// BLAS and LAPACK routines on a stream.

#include "backend/cuda/stream_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::cuda {

/// Threads: the one that submits
class Routines {
 public:
  /// True if run() knows the routine. Says nothing of whether the libraries are there.
  static bool has(const Descriptor& routine) noexcept;

  /// Submits a checked call to the stream, with the reference's meaning of every argument; waits
  /// for the stream where it must. Memory operands are Argument::host that hold device pointers
  /// (nullptr where nothing is referenced); pivots that are read point into their matrix.
  /// Errors: unsupported; unavailable without the library; out_of_memory; device_error
  static Status run(StreamContext& context, const Descriptor& routine, const Argument* arguments);
};

}  // namespace ob::cuda
