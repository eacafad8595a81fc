#pragma once
// The metrics of a daemon as text.

#include <string>

#include "daemon/server/daemon_facts.hpp"

namespace ob::daemon {

/// Returns the metrics in the text format of Prometheus, version 0.0.4. No label says anything
/// about users, programs or leases.
/// Source: prometheus.io, Exposition formats
std::string exposition(const DaemonFacts& facts);

}  // namespace ob::daemon
