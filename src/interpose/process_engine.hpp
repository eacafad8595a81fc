#pragma once
// The one engine of the process. It is made at the first call that may be remote, and it is never
// destroyed. A forked child leaks the inherited engine and makes its own. After the library's
// destructor ran, the engine is no longer accessible.

#include <optional>

#include "base/accuracy.hpp"
#include "offload/engine.hpp"

namespace ob::interpose {

/// The engine. nullptr before it can be made, in mode off, while this thread is making it, and
/// after the library's destructor.
/// Threads: any. The first call reads the environment; no connection is made.
offload::Engine* process_engine() noexcept;

/// The accuracy that outboard_accuracy() set on this thread; empty: none.   Threads: any
std::optional<Accuracy> thread_accuracy() noexcept;
void set_thread_accuracy(std::optional<Accuracy> accuracy) noexcept;

}  // namespace ob::interpose
