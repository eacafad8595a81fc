#pragma once
// The length of a run that one measurement is enough for.

namespace ob::policy {

/// Shorter runs may still contain the start of threads and the first touch of memory.
/// Units: seconds
inline constexpr double kLongRunS = 5e-3;

}  // namespace ob::policy
