#pragma once
// The border at which exceptions of libraries become failures of one command.

#include <exception>
#include <new>
#include <utility>

#include "base/status.hpp"

namespace ob {

/// Returns the status of `work`, a Status().
/// Errors: out_of_memory if it throws std::bad_alloc; internal if it throws anything else of the
///         standard library
template <class Work>
Status contained(Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::bad_alloc&) {
    return {Code::out_of_memory, "out of memory"};  // short enough to need no memory itself
  } catch (const std::exception& error) {
    return {Code::internal, error.what()};
  }
}

}  // namespace ob
