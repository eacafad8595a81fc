#pragma once
// Ends a benchmark that cannot continue, and prints the reason.

#include <cerrno>  // program_invocation_short_name
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/status.hpp"

namespace ob::bench {

inline void or_exit(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, status.message().c_str());
  std::exit(1);
}

template <class T>
T or_exit(Result<T> result) {
  if (!result.ok()) or_exit(result.status());
  return std::move(result).value();
}

}  // namespace ob::bench
