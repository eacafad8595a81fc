#pragma once
// Finds the executor process of a client that shares memory with its daemon.

#include <sys/types.h>

namespace ob::test {

/// Returns the child of the daemon that has mapped a buffer that this process has mapped, too;
/// -1 if there is none.
/// @pre one session of this process has buffers
pid_t own_executor(pid_t daemon);

}  // namespace ob::test
