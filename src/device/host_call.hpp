#pragma once
// Routine calls and transforms with resolved and checked operands.

#include <cstdint>
#include <memory>
#include <optional>
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
  std::uint64_t operand_bytes = 0;  ///< of all elements that the call can access

  double flops() const { return routine->flops(arguments); }
};

/// Checks the arguments that are not operands. Memory arguments are Argument::device.
/// Errors: invalid_argument if the reference implementation refuses them; unsupported for
///         dimensions that no device can hold
Status check_legal(const Descriptor& routine, const Argument* arguments);
/// Checks the place of an operand.
/// @param buffer_bytes size of its buffer; nothing: there is no such buffer
/// Errors: invalid_argument if the operand is outside the buffer or not aligned
/// @pre the call is legal
Status check_operand(const Descriptor& routine, const Operand& operand,
                     const DeviceOperand& place_in, std::optional<std::uint64_t> buffer_bytes);
/// Errors: invalid_argument if an operand that the routine changes overlaps another one
/// @pre all operands lie in their buffers
Status check_overlaps(const Descriptor& routine, const Operands& operands,
                      const Argument* arguments);

/// Resolves the operands of a call, whose memory arguments are Argument::device, and checks all
/// that can be checked without the elements. The arguments may come from the wire.
/// Errors: invalid_argument if the call is illegal, or an operand is outside its buffer or not
///         aligned, or an operand that the routine changes overlaps another one
Status resolve_call(const MemoryTable& memory, const Descriptor& routine, const Argument* arguments,
                    HostCall& call);

/// Checks a plan.
/// Errors: invalid_argument if no backend could carry it out (rank, precision, sign, zero sizes)
Status check_plan(const FftPlan& plan);

/// The input and output of one plan execution.
/// Memory: keeps its buffers alive
struct HostTransform {
  std::shared_ptr<const void> input_buffer;
  std::shared_ptr<const void> output_buffer;
  std::byte* input = nullptr;
  std::byte* output = nullptr;
};

/// Resolves the arrays of a plan execution.
/// Errors: invalid_argument if an array is outside its buffer, not aligned, overlaps, or is not in
///         place as planned
Status resolve_transform(const MemoryTable& memory, const FftPlan& plan, const BufferRef& input,
                         const BufferRef& output, HostTransform& transform);

}  // namespace ob
