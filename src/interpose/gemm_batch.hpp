#pragma once
// CBLAS's batches of gemm: cblas_?gemm_batch (groups of calls alike, operands by address) and
// cblas_?gemm_batch_strided (operands at equal distances). A row of the table cannot say arrays of
// arrays, so they are unpacked here, each call into the row of gemm; the batch goes out as one.
//
// Source: MKL's reference manual; OpenBLAS 0.3.30 has the same interface.

#include "interpose/entry.hpp"

namespace ob::interpose {

/// Arguments: layout; arrays with an element per group of transa, transb, m, n, k, alpha, (a), lda,
/// (b), ldb, beta, (c), ldc, where those in brackets have one per call; group count; group sizes.
/// @param entry of the batch; entry.row is gemm's   Threads, errors: as take_call
void take_grouped_batch(const Entry& entry, const Raw* arguments, const void* caller);

/// Arguments: as gemm's, with the distance to the next call's operand after each leading dimension;
/// number of calls.
void take_strided_batch(const Entry& entry, const Raw* arguments, const void* caller);

}  // namespace ob::interpose
