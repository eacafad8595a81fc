#pragma once
// Compiles kernels as C++.

#include <string>
#include <vector>

namespace standin {

/// Compiles CUDA source, as far as C++ can express it, to an image for cuModuleLoadData of the
/// stand-in. A folder of the user (STANDIN_CUDA_CACHE) keeps the results by their source text.
/// @param log the messages of the compiler
bool compile_kernels(const std::string& source, unsigned architecture, std::vector<char>& cubin,
                     std::string& log);

}  // namespace standin
