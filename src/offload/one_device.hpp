#pragma once
// Large calls of BLAS level 3: their operands travel in panels while the device computes.

#include <optional>

#include "algorithms/call_timings.hpp"
#include "algorithms/panels/pipeline_model.hpp"
#include "algorithms/residency/residency.hpp"
#include "algorithms/tiles/commit_gate.hpp"
#include "client/connection_cache.hpp"
#include "offload/state.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::offload {

/// What a device does of its dgemm rate, until it has been seen.
double device_share(const Descriptor& routine) noexcept;

/// Bytes to the device of a call that is large enough to be cut: sending, computing and returning
/// go on at the same time then, and C stays here. Empty: it goes whole.
std::optional<double> bytes_in_panels(const Descriptor& routine,
                                      const Argument* arguments) noexcept;

/// What is known of the way to a acquired device and of what it does with such a call.
algorithms::PipelineModel model_of(State& state, const client::AcquiredDevice& acquired,
                                   const Descriptor& routine, const Argument* arguments);

/// What makes a call a part of another one.
struct Part {
  algorithms::Commits* commits = nullptr;
  algorithms::Range diagonal;  ///< as algorithms::CallPart's
};

/// Runs any call, or a part of one, over a acquired device: in panels if it is large enough, if
/// what it takes is known well enough to cut it up, and if that is predicted to help. Memory,
/// errors: as algorithms::offload_call()   Threads: as the acquired
Status offload(State& state, client::AcquiredDevice& acquired, const Descriptor& routine,
               const Argument* arguments, algorithms::CallTimings& timings, const Part& part = {});

}  // namespace ob::offload
