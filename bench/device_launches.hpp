#pragma once
// Measures launches of an empty kernel by the device API.

#include "bench/conversation.hpp"
#include "bench/report.hpp"

namespace ob::bench {

/// Adds the rows of launches: in this process, behind a daemon over both transports of this
/// machine, and on a device that computes nothing. Without PoCL there are only the last ones.
/// @param raw a conversation over a plain socket
void measure_launches(Conversation& raw, const Options& options, Report& report);

}  // namespace ob::bench
