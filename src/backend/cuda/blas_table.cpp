#include "backend/cuda/blas_table.hpp"

namespace ob::cuda {

// Opens the library of the headers' major version. The functions of another version may differ.
Result<BlasTable> BlasTable::open() {
  OB_ASSIGN_OR_RETURN(const Library library,
                      Library::open("libcublas.so." OB_CUDA_TEXT(CUBLAS_VER_MAJOR)));
  BlasTable table;
  const char* missing = nullptr;
  OB_CUBLAS_FUNCTIONS(OB_CUDA_FILL);
  if (missing != nullptr) return library.lacks(missing);
#define OB_CUDA_ROW_FILL(routine, function) OB_CUDA_FILL(function)
  OB_CUBLAS_ROWS(OB_CUDA_ROW_FILL)
#undef OB_CUDA_ROW_FILL
  return table;
}

Status BlasTable::check(cublasStatus_t result, std::string_view what) const {
  if (result == CUBLAS_STATUS_SUCCESS) return {};
  const Code code = result == CUBLAS_STATUS_ALLOC_FAILED ? Code::out_of_memory : Code::device_error;
  return {code, std::string(what) + ": cuBLAS failed (" + cublasGetStatusString(result) + ")"};
}

}  // namespace ob::cuda
