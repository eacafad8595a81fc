#pragma once
// Programs for which a higher thread level takes something away.

namespace ob::overlap {

/// Returns true if the level must stay `required`: Open MPI 4 has no one-sided communication over
/// networks without it with MPI_THREAD_MULTIPLE, and the program refers to such functions.
bool one_sided_needs_level(int required) noexcept;

}  // namespace ob::overlap
