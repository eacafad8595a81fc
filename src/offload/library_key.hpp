#pragma once
// Which library computes here: what is measured of one says nothing of another, nor of the same one
// with other kernels or another number of threads.

#include <string>

namespace ob::offload {

/// OpenBLAS by its version, options and core type, other libraries by the folder and file name of
/// the object that holds `function`, links resolved; and the number of threads. Empty if the object
/// has no name. "OpenBLAS 0.3.21 NO_AFFINITY SkylakeX MAX_THREADS=64 2 threads",
/// "lapack/liblapack.so.3.11.0 2 threads"   Threads: any; asks the dynamic linker
std::string library_key(const void* function);

}  // namespace ob::offload
