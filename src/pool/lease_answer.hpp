#pragma once
// The manager's answer, from `outboard run` to the command that it runs.
//
// The command begins before there is an answer. A file in a folder that only the user can enter
// then tells it: there is none while the manager is being asked.

#include <chrono>
#include <string>

#include "base/status.hpp"
#include "pool/lease_handles.hpp"
#include "transport/stream.hpp"

namespace ob::pool {

/// Hands a lease over, or, with a default LeaseState, says that there is none.
/// @param asked when the manager was asked
/// Errors: unavailable if the file cannot be written
Status hand_over(const std::string& file, const LeaseState& lease,
                 std::chrono::steady_clock::time_point asked);

/// Takes the lease over as it is now. Waits for the file as long as the process may enter its
/// folder.
/// Errors: fenced if there is no lease; deadline_exceeded; unavailable if there will be no answer,
/// so that the manager must be asked
Result<LeaseState> take_over(const std::string& file, transport::Deadline deadline);

}  // namespace ob::pool
