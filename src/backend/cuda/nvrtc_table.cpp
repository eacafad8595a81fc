#include "backend/cuda/nvrtc_table.hpp"

#include <cuda.h>

namespace ob::cuda {

// The header has no version of its own, so the version of the toolkit is used.
Result<NvrtcTable> NvrtcTable::open() {
  OB_ASSIGN_OR_RETURN(const Library library,
                      Library::open("libnvrtc.so." + std::to_string(CUDA_VERSION / 1000)));
  NvrtcTable table;
  const char* missing = nullptr;
  OB_NVRTC_FUNCTIONS(OB_CUDA_FILL);
  if (missing != nullptr) return library.lacks(missing);
  return table;
}

}  // namespace ob::cuda
