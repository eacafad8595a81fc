#pragma once
// Runs one call of a program on one device: sends the operands, computes, returns the results.

#include <span>

#include "algorithms/call_context.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "device/device.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// Runs the routine on the device with operands in host memory.
/// Memory:  arguments hold Argument::host. An operand that the call reads and writes changes only
///          after all results have arrived. Write-only results may be written earlier (a rerun
///          overwrites them). Exactly the referenced elements are transferred.
/// Threads: any, one at a time per queue
/// Errors:  those of the device; declined if the routine's info makes its results invalid; the
///          caller's memory is unchanged then
/// Cost:    operands are read and written once over the link, except the data that `residency`
///          finds on the device; device memory for each operand (not for padding)
/// Source:  RCPU 3.2, without pipelining
/// @pre     routine.legal(arguments, lds) && !routine.trivial(arguments)
Status offload_call(const CallContext& context);

/// Runs several calls of one routine, each as offload_call does. All results of all calls arrive
/// before any memory that the calls read changes. An input that one call shares with the call
/// before it (a batch with one A) is sent once.
/// Cost:    device memory for the operands of all calls
Status offload_calls(Device& device, QueueId queue, const Descriptor& routine,
                     std::span<const CallArguments> calls, CallTimings& timings);

/// An FFT that the device has a plan for.
struct PlannedFft {
  PlanId plan;
  const FftPlan& shape;
  Layout input;   ///< in host memory, in packed order, with the sizes of the plan
  Layout output;  ///< see input
  bool in_out;    ///< input and output share memory
};

/// Runs an FFT whose data fit on the device all at once. The guarantees are those of offload_call.
Status offload_planned_fft(Device& device, QueueId queue, const PlannedFft& fft,
                           CallTimings& timings);

}  // namespace ob::algorithms
