#pragma once
// The functions of CLBlast for the rows of the BLAS: X(routine, function).
//
// The list has only level 3. CLBlast has the other levels, too, but a call of level 1 or 2 on data
// that lies on a device is rare, and the processor runs it with the reference's rules. gemm3m runs
// as gemm, because callers of gemm3m want a faster gemm.

#define OB_CLBLAST_ROWS_OF(X, p, P) \
  X(p##gemm, CLBlast##P##gemm)      \
  X(p##symm, CLBlast##P##symm)      \
  X(p##syr2k, CLBlast##P##syr2k)    \
  X(p##syrk, CLBlast##P##syrk)      \
  X(p##trmm, CLBlast##P##trmm)      \
  X(p##trsm, CLBlast##P##trsm)

#define OB_CLBLAST_COMPLEX_ROWS(X, p, P) \
  X(p##hemm, CLBlast##P##hemm)           \
  X(p##her2k, CLBlast##P##her2k)         \
  X(p##herk, CLBlast##P##herk)

#define OB_CLBLAST_ROWS(X)         \
  OB_CLBLAST_ROWS_OF(X, s, S)      \
  OB_CLBLAST_ROWS_OF(X, d, D)      \
  OB_CLBLAST_ROWS_OF(X, c, C)      \
  OB_CLBLAST_ROWS_OF(X, z, Z)      \
  OB_CLBLAST_COMPLEX_ROWS(X, c, C) \
  OB_CLBLAST_COMPLEX_ROWS(X, z, Z)

/// Other names of the same functions.
#define OB_CLBLAST_SAME_ROWS(X) \
  X(cgemm3m, CLBlastCgemm)      \
  X(zgemm3m, CLBlastZgemm)

/// The functions that return the scratch memory of a product, by precision.
#define OB_CLBLAST_SIZES(X)            \
  X(sgemm, CLBlastSGemmTempBufferSize) \
  X(dgemm, CLBlastDGemmTempBufferSize) \
  X(cgemm, CLBlastCGemmTempBufferSize) \
  X(zgemm, CLBlastZGemmTempBufferSize)
