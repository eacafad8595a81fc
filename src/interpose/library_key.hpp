#pragma once
// Which library computes here: what is measured of one says nothing of another, nor of the same one
// with other kernels or another number of threads.

#include <string>

namespace ob::interpose {

/// The object that holds `function`, by its folder and file name with links resolved, OpenBLAS's
/// core type, and the number of threads: "openblas-pthread/libblas.so.3 SkylakeX 2 threads". Empty
/// if the object has no name.
/// Threads: any; asks the dynamic linker
std::string library_key(const void* function);

}  // namespace ob::interpose
