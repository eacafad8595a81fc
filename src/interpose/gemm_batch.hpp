#pragma once
// The batches of gemm of CBLAS: cblas_?gemm_batch (groups of similar calls, operands by address)
// and cblas_?gemm_batch_strided (operands at equal distances). A row of the table cannot describe
// arrays of arrays, so this file unpacks each call into the row of gemm. The batch is remote as one
// call.
//
// Source: MKL's reference manual; OpenBLAS 0.3.30 has the same interface.

#include "interpose/entry.hpp"

namespace ob::interpose {

/// Takes a batch in groups. The arguments are the layout; arrays with one element per group of
/// transa, transb, m, n, k, alpha, (a), lda, (b), ldb, beta, (c), ldc, where those in brackets have
/// one element per call; the group count; the group sizes.
/// @param entry of the batch; entry.row is gemm's   Threads, errors: as take_call
void take_grouped_batch(const Entry& entry, const Raw* arguments, const void* caller);

/// Takes a strided batch. The arguments are those of gemm, with the distance to the next call's
/// operand after each leading dimension, then the number of calls.
void take_strided_batch(const Entry& entry, const Raw* arguments, const void* caller);

}  // namespace ob::interpose
