#pragma once
// Matrix products in this machine's BLAS library.

#include <memory>

#include "base/status.hpp"
#include "sial/operations/gemm.hpp"

namespace ob::apps {

/// Opens the library of the cpu backend.   Errors: unavailable without a library
/// @param threads of each product
Result<std::unique_ptr<sial::Gemm>> open_host_gemm(unsigned threads);

}  // namespace ob::apps
