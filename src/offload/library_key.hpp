#pragma once
// Names the library that computes locally. Measurements of one library do not hold for another one,
// nor for the same one with other kernels or another number of threads.

#include <string>

namespace ob::offload {

/// Names the library and the number of its threads. The name of OpenBLAS is its version, options
/// and core type. The name of other libraries is the folder and file name of the object that holds
/// `function`, with links resolved. The key is empty if the object has no name. Examples are
/// "OpenBLAS 0.3.21 NO_AFFINITY SkylakeX MAX_THREADS=64 2 threads" and
/// "lapack/liblapack.so.3.11.0 2 threads".
/// Threads: any; asks the dynamic linker
std::string library_key(const void* function);

}  // namespace ob::offload
