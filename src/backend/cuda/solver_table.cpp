#include "backend/cuda/solver_table.hpp"

namespace ob::cuda {

// Opens the library of the headers' major version. The functions of another version may differ.
Result<SolverTable> SolverTable::open() {
  OB_ASSIGN_OR_RETURN(const Library library,
                      Library::open("libcusolver.so." OB_CUDA_TEXT(CUSOLVER_VER_MAJOR)));
  SolverTable table;
  const char* missing = nullptr;
  OB_CUSOLVER_FUNCTIONS(OB_CUDA_FILL);
  if (missing != nullptr) return library.lacks(missing);
  OB_CUSOLVER_ROW_FUNCTIONS(OB_CUDA_FILL)
  return table;
}

Status SolverTable::check(cusolverStatus_t result, std::string_view what) const {
  if (result == CUSOLVER_STATUS_SUCCESS) return {};
  const Code code = result == CUSOLVER_STATUS_ALLOC_FAILED    ? Code::out_of_memory
                    : result == CUSOLVER_STATUS_NOT_SUPPORTED ? Code::unsupported
                                                              : Code::device_error;
  return {code, std::string(what) + ": cuSOLVER failed (status " + std::to_string(result) + ")"};
}

}  // namespace ob::cuda
