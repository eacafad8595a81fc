#pragma once
// A routine call or a transform whose operands were found in memory and checked.

#include <memory>
#include <string>

#include "base/status.hpp"
#include "device/device.hpp"
#include "device/memory_table.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"
#include "routines/fft.hpp"

namespace ob {

/// A checked call, ready for a library: memory operands are Argument::host, with addresses of the
/// device that the memory is in.
/// Memory: keeps its buffers alive
struct HostCall {
  const Descriptor* routine = nullptr;
  Argument arguments[kMaxArguments];
  std::shared_ptr<const void> buffers[kMaxOperands];
  std::uint64_t operand_bytes = 0;  ///< all elements it can touch

  double flops() const { return routine->flops(arguments); }
};

/// Finds the operands of a call whose memory arguments are Argument::device. Checks everything that
/// does not need the elements: wire bytes arrive here.
/// Errors: invalid_argument if the call is illegal, an operand is not inside its buffer or not
/// aligned
Status resolve_call(const MemoryTable& memory, const Descriptor& routine, const Argument* arguments,
                    HostCall& call);

/// Whether the pivots that a call reads point into their matrix (index vectors as the row's
/// `indices` says). Looks at elements, which are in host memory: call it when the call's turn has
/// come.
/// Errors: invalid_argument if one does not
Status check_indices(const Descriptor& routine, const Argument* arguments);

/// Errors: invalid_argument for a plan that no backend could carry out (rank, precision, sign, zero
/// sizes).
Status check_plan(const FftPlan& plan);

/// The input and output of one plan execution.
/// Memory: keeps its buffers alive
struct HostTransform {
  std::shared_ptr<const void> input_buffer;
  std::shared_ptr<const void> output_buffer;
  std::byte* input = nullptr;
  std::byte* output = nullptr;
};

/// Errors: invalid_argument if an array is not inside its buffer, not aligned, overlaps, or is not
/// in place as planned
Status resolve_transform(const MemoryTable& memory, const FftPlan& plan, const BufferRef& input,
                         const BufferRef& output, HostTransform& transform);

}  // namespace ob
