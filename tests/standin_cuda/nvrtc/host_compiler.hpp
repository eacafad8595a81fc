#pragma once
// Kernels as C++.

#include <string>
#include <vector>

namespace standin {

/// Compiles CUDA's source, as far as C++ can say it, to what cuModuleLoadData of the stand-in
/// takes. Results are kept in a folder of the user's (STANDIN_CUDA_CACHE), by the text they came
/// from.
/// @param log what the compiler says
bool compile_kernels(const std::string& source, unsigned architecture, std::vector<char>& cubin,
                     std::string& log);

}  // namespace standin
