#pragma once
// One call of a program on one device: operands there, compute, results back.

#include <span>

#include "algorithms/call_context.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "device/device.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// Runs the routine on the device with operands in host memory.
/// Memory:  arguments hold Argument::host. What the call reads as well as writes changes only when
/// all results
///          are in hand; write-only results may land earlier (a rerun overwrites them). Exactly the
///          referenced elements travel.
/// Threads: any, one at a time per queue      Errors: those of the device; declined if the
/// routine's info says that the results are not to be used; the caller's memory is intact then
/// Cost:    operands read and written once over the link, but for what `residency` finds on the
/// device already; device memory for each operand (not for padding)
/// Source:  RCPU 3.2, without pipelining
/// @pre     routine.legal(arguments, lds) && !routine.trivial(arguments)
Status offload_call(const CallContext& context);

/// Runs several calls of one routine, as offload_call would each, but with all results in hand
/// before any of the caller's memory that is read changes. An input that one call shares with the
/// one before it (a batch with one A) travels once. Cost:    device memory for the operands of all
/// calls
Status offload_calls(Device& device, QueueId queue, const Descriptor& routine,
                     std::span<const CallArguments> calls, CallTimings& timings);

/// An FFT that the device has a plan for.
struct PlannedFft {
  PlanId plan;
  const FftPlan& shape;
  Layout input;   ///< in host memory, in packed order, of the sizes of the plan
  Layout output;  ///< likewise
  bool in_out;    ///< input and output share memory
};

/// Runs an FFT whose data fit on the device all at once. The guarantees are those of offload_call.
Status offload_planned_fft(Device& device, QueueId queue, const PlannedFft& fft,
                           CallTimings& timings);

}  // namespace ob::algorithms
