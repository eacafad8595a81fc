#pragma once
// Converts NVIDIA's flags to Fortran's.

#include <cublas_v2.h>

namespace standin {

inline char letter(cublasOperation_t op) {
  return op == CUBLAS_OP_N ? 'N' : (op == CUBLAS_OP_T ? 'T' : 'C');
}
inline char letter(cublasFillMode_t uplo) { return uplo == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U'; }
inline char letter(cublasDiagType_t diag) { return diag == CUBLAS_DIAG_UNIT ? 'U' : 'N'; }
inline char letter(cublasSideMode_t side) { return side == CUBLAS_SIDE_LEFT ? 'L' : 'R'; }

}  // namespace standin
