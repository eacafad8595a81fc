#pragma once
// One call, or a part of one, on one device: as a whole, in panels or in tiles.

#include <vector>

#include "algorithms/call_timings.hpp"
#include "algorithms/residency/residency.hpp"
#include "algorithms/tiles/commit_gate.hpp"
#include "algorithms/tiles/products_split.hpp"
#include "base/status.hpp"
#include "client/connection_cache.hpp"
#include "offload/execution.hpp"

namespace ob::offload {

/// Says that a call is a part of another one.
struct Part {
  algorithms::Commits* commits = nullptr;
  algorithms::Range diagonal;  ///< as algorithms::CallPart's
};

/// Runs any call, or a part of one, over an acquired device. It runs in tiles if the device lacks
/// the memory for it; in panels if it is large enough, the rates are known, and a gain is
/// predicted; otherwise as a whole.
/// Memory, errors: as algorithms::offload_call()   Threads: as the acquired device
Status run_on_device(const Execution& execution, client::AcquiredDevice& acquired,
                     const RoutineCall& call, algorithms::CallTimings& timings,
                     const Part& part = {});

/// Returns the operands that run_on_device() would place on the device and that the call does not
/// change. Empty if the call does not fit at once, or is cut in a way of its own.
std::vector<algorithms::PlacedOperand> operands_to_bring(const Execution& execution,
                                                         client::AcquiredDevice& acquired,
                                                         const RoutineCall& call);

}  // namespace ob::offload
