#pragma once
// The drop-in library's one process state: made at the first call that matters, never destroyed,
// replaced by nothing in a forked child (which makes its own), out of reach once the library's
// destructor ran.

#include "offload/state.hpp"

namespace ob::interpose {

/// The state; nullptr before it can be made, in mode off, while this thread is making it, and at
/// the very end.
/// Threads: any. First call reads the environment; no connection is made.
offload::State* state() noexcept;

}  // namespace ob::interpose
