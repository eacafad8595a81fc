#pragma once
// The requests to the hostile BLAS library of the tests.

namespace ob::hostile {

/// alpha of dgemm is kFirst plus the number of the request.
inline constexpr double kFirst = 666000;

enum class Request {
  abort,
  loop,                ///< for ever
  fault,               ///< SIGSEGV
  exit,                ///< ends the process with status 0
  reach_out,           ///< C(1,1): one bit for each resource outside of the process that it reached
  take_memory,         ///< C(1,1): the MiB that it could allocate, at most 4096
  take_shared_memory,  ///< C(1,1): the number of mappings that its limit would not count
  process,             ///< C(1,1): the number of the process
};

}  // namespace ob::hostile
