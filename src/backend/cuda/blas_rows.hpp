#pragma once
// The functions of cuBLAS for the rows of the BLAS: X(routine, function).
//
// All take 64-bit dimensions. Their parameters are those of the row, in its order, with
// enumerations for flags and pointers for scalars (row_parameters.hpp). The processor computes
// rotg, rotmg, dsdot and sdsdot. The first two have only scalars. The others compute sums in a
// precision for which cuBLAS has no function.

#define OB_CUBLAS_REAL_ROWS(X, p, P) \
  X(p##dot, cublas##P##dot_64)       \
  X(p##ger, cublas##P##ger_64)       \
  X(p##rot, cublas##P##rot_64)       \
  X(p##rotm, cublas##P##rotm_64)     \
  X(p##sbmv, cublas##P##sbmv_64)     \
  X(p##spmv, cublas##P##spmv_64)     \
  X(p##spr, cublas##P##spr_64)       \
  X(p##spr2, cublas##P##spr2_64)     \
  X(p##symv, cublas##P##symv_64)     \
  X(p##syr, cublas##P##syr_64)       \
  X(p##syr2, cublas##P##syr2_64)

#define OB_CUBLAS_COMPLEX_ROWS(X, p, P) \
  X(p##dotc, cublas##P##dotc_64)        \
  X(p##dotu, cublas##P##dotu_64)        \
  X(p##gemm3m, cublas##P##gemm3m_64)    \
  X(p##gerc, cublas##P##gerc_64)        \
  X(p##geru, cublas##P##geru_64)        \
  X(p##hbmv, cublas##P##hbmv_64)        \
  X(p##hemm, cublas##P##hemm_64)        \
  X(p##hemv, cublas##P##hemv_64)        \
  X(p##her, cublas##P##her_64)          \
  X(p##her2, cublas##P##her2_64)        \
  X(p##her2k, cublas##P##her2k_64)      \
  X(p##herk, cublas##P##herk_64)        \
  X(p##hpmv, cublas##P##hpmv_64)        \
  X(p##hpr, cublas##P##hpr_64)          \
  X(p##hpr2, cublas##P##hpr2_64)

#define OB_CUBLAS_ROWS_OF(X, p, P) \
  X(p##axpy, cublas##P##axpy_64)   \
  X(p##copy, cublas##P##copy_64)   \
  X(p##gbmv, cublas##P##gbmv_64)   \
  X(p##gemm, cublas##P##gemm_64)   \
  X(p##gemv, cublas##P##gemv_64)   \
  X(p##scal, cublas##P##scal_64)   \
  X(p##swap, cublas##P##swap_64)   \
  X(p##symm, cublas##P##symm_64)   \
  X(p##syr2k, cublas##P##syr2k_64) \
  X(p##syrk, cublas##P##syrk_64)   \
  X(p##tbmv, cublas##P##tbmv_64)   \
  X(p##tbsv, cublas##P##tbsv_64)   \
  X(p##tpmv, cublas##P##tpmv_64)   \
  X(p##tpsv, cublas##P##tpsv_64)   \
  X(p##trmm, cublas##P##trmm_64)   \
  X(p##trmv, cublas##P##trmv_64)   \
  X(p##trsm, cublas##P##trsm_64)   \
  X(p##trsv, cublas##P##trsv_64)

#define OB_CUBLAS_ROWS(X)         \
  OB_CUBLAS_ROWS_OF(X, s, S)      \
  OB_CUBLAS_ROWS_OF(X, d, D)      \
  OB_CUBLAS_ROWS_OF(X, c, C)      \
  OB_CUBLAS_ROWS_OF(X, z, Z)      \
  OB_CUBLAS_REAL_ROWS(X, s, S)    \
  OB_CUBLAS_REAL_ROWS(X, d, D)    \
  OB_CUBLAS_COMPLEX_ROWS(X, c, C) \
  OB_CUBLAS_COMPLEX_ROWS(X, z, Z) \
  X(csscal, cublasCsscal_64)      \
  X(zdscal, cublasZdscal_64)      \
  X(csrot, cublasCsrot_64)        \
  X(zdrot, cublasZdrot_64)        \
  X(snrm2, cublasSnrm2_64)        \
  X(dnrm2, cublasDnrm2_64)        \
  X(scnrm2, cublasScnrm2_64)      \
  X(dznrm2, cublasDznrm2_64)      \
  X(sasum, cublasSasum_64)        \
  X(dasum, cublasDasum_64)        \
  X(scasum, cublasScasum_64)      \
  X(dzasum, cublasDzasum_64)      \
  X(isamax, cublasIsamax_64)      \
  X(idamax, cublasIdamax_64)      \
  X(icamax, cublasIcamax_64)      \
  X(izamax, cublasIzamax_64)
