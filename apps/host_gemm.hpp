#pragma once
// The matrix product of the BLAS library of this machine, for contractions on the host.

#include <memory>

#include "base/status.hpp"
#include "sial/operations/gemm.hpp"

namespace ob::apps {

/// Opens the library that the cpu backend uses, with this number of threads.
/// Errors: unavailable without a library; sial::LoopGemm is a substitute then
Result<std::unique_ptr<sial::Gemm>> open_host_gemm(unsigned threads);

}  // namespace ob::apps
