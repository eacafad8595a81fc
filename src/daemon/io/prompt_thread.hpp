#pragma once

namespace ob::daemon {

/// Makes the calling thread run soon after it wakes, as far as the system permits: a higher
/// priority, and code and stack that are never swapped out.
/// Threads: any      Errors: none; without permission the thread stays as it is
void make_thread_prompt() noexcept;

}  // namespace ob::daemon
