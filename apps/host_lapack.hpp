#pragma once
// The LAPACK library of this machine, for super-instructions.

#include <memory>

#include "base/status.hpp"
#include "sial/builtins/lapack.hpp"

namespace ob::apps {

/// Opens the library that the cpu backend uses, with this number of threads.
/// Errors: unavailable without a library, or if it lacks a routine
Result<std::shared_ptr<sial::Lapack>> open_host_lapack(unsigned threads);

}  // namespace ob::apps
