#pragma once
// One call of a program on one device: operands there, compute, results back.

#include <span>

#include "algorithms/call_timings.hpp"
#include "algorithms/residency/residency.hpp"
#include "algorithms/tiles/commit_gate.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "device/device.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// Runs `routine` on `device` with operands in host memory.
/// Memory:  arguments hold Argument::host. What the call reads as well as writes changes only when
/// all results
///          are in hand; write-only results may land earlier (a rerun overwrites them). Exactly the
///          referenced elements travel.
/// Threads: any, one at a time per queue      Errors: those of the device; declined if the
/// routine's info says that the results are not to be used; the caller's memory is intact then
/// Cost:    operands read and written once over the link, but for what `residency` finds on the
/// device already; device memory for each operand (not for padding)
/// Source:  RCPU 3.2, without pipelining
/// @param   commits if it is a part of a call
/// @pre     routine.legal(arguments, lds) && !routine.trivial(arguments)
Status offload_call(Device& device, QueueId queue, const Descriptor& routine,
                    const Argument* arguments, CallTimings& timings, Residency* residency = nullptr,
                    Commits* commits = nullptr);

/// Runs several calls of one routine, as offload_call would each, but with all results in hand
/// before any of the caller's memory that is read changes. An input that one call shares with the
/// one before it (a batch with one A) travels once. Cost:    device memory for the operands of all
/// calls
Status offload_calls(Device& device, QueueId queue, const Descriptor& routine,
                     std::span<const CallArguments> calls, CallTimings& timings);

/// Runs an FFT whose data lie in host memory as `input` and `output` say (packed order, plan's
/// sizes). The same guarantees; in_out says that the layouts share memory.
Status offload_fft(Device& device, QueueId queue, PlanId plan, const FftPlan& shape,
                   const Layout& input, const Layout& output, bool in_out, CallTimings& timings);

}  // namespace ob::algorithms
