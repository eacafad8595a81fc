#pragma once
// Arguments that a BLAS library refuses in spite of our checks. The reference's XERBLA stops the
// process, which must not happen to a daemon. An executable that exports the xerbla_ of refusal.cpp
// replaces it by one that only records the refusal.

#include <string>

namespace ob::cpu {

/// Returns and clears the first refusal on the calling thread, e.g. "DLALSD: argument 4"; empty if
/// there was none.
std::string take_refusal();

}  // namespace ob::cpu
