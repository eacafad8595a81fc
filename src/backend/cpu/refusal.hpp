#pragma once
// Arguments that a BLAS library refuses after all. The reference's XERBLA stops the process, which
// must not happen to a daemon: an executable that exports the xerbla_ of refusal.cpp gives
// libraries one that only takes note.

#include <string>

namespace ob::cpu {

/// What the calling thread's library complained of since the last time, e.g. "DLALSD: argument 4";
/// empty if nothing.
std::string take_refusal();

}  // namespace ob::cpu
