#include "backend/cuda/fft_table.hpp"

namespace ob::cuda {

// Opens the library of the headers' major version. The functions of another version may differ.
Result<FftTable> FftTable::open() {
  OB_ASSIGN_OR_RETURN(const Library library,
                      Library::open("libcufft.so." OB_CUDA_TEXT(CUFFT_VER_MAJOR)));
  FftTable table;
  const char* missing = nullptr;
  OB_CUFFT_FUNCTIONS(OB_CUDA_FILL);
  if (missing != nullptr) return library.lacks(missing);
  return table;
}

Status FftTable::check(cufftResult result, std::string_view what) {
  if (result == CUFFT_SUCCESS) return {};
  const bool refused = result == CUFFT_INVALID_SIZE || result == CUFFT_NOT_SUPPORTED ||
                       result == CUFFT_INVALID_VALUE;
  const Code code = result == CUFFT_ALLOC_FAILED ? Code::out_of_memory
                    : refused                    ? Code::unsupported
                                                 : Code::device_error;
  return {code, std::string(what) + ": cuFFT failed (result " + std::to_string(result) + ")"};
}

}  // namespace ob::cuda
