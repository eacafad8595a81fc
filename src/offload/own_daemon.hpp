#pragma once
// A daemon that `outboard run` starts with the first connection, on the program's own cores: what
// it can reach there, and when it is worth starting.

#include <string_view>

#include "policy/shipped_rates.hpp"

namespace ob::offload {

/// A library has fewer threads or narrower kernels than a device if its peak is so many times below
/// the rate that the device reaches with a large product.
inline constexpr double kClearlyLess = 1.5;

/// Returns the rate of large products that a daemon reaches on the cores that this process may use.
/// @param core_type OPENBLAS_CORETYPE, which holds for the daemon, too; empty: its own choice
/// Units: flop/s   Threads: any
double own_daemon_rate(std::string_view core_type) noexcept;

/// Returns the peak of a library with all its threads.   Units: flop/s
double peak_of(const policy::LocalLibrary& library) noexcept;

/// True if a program that has spent `long_s` in calls that might go out will probably gain by a
/// daemon much more than its start costs, supposing that it goes on for as long again.
/// @param library nullptr: not known
/// @param daemon_rate of own_daemon_rate()
bool is_worth_starting(double long_s, const policy::LocalLibrary* library,
                       double daemon_rate) noexcept;

}  // namespace ob::offload
