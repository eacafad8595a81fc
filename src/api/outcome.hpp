#pragma once
// The failure of an API function, as the caller's thread can ask for it.

#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "outboard/device.h"

namespace ob::api {

/// The outcome of an API function.
struct Outcome {
  Outcome() = default;
  /// The origin follows from the code.
  Outcome(Status failed);

  bool ok() const noexcept { return status.ok(); }

  Status status;
  std::int32_t origin = OB_FROM_NOBODY;
  std::uint64_t command = 0;  ///< number of the failed command; 0: none
  std::string name;           ///< the routine of that command
};

/// Returns a mistake of the caller.   @param message problem (why) suggestion
Outcome mistake(std::string message);

/// Keeps a failure for ob_last_error(), and returns its code.
ob_status keep(const Outcome& outcome) noexcept;
/// Returns the last failure of this thread.
const ob_error& last_error() noexcept;
/// Writes a failure to `error`, whose struct_bytes stays.
void describe(const Outcome& outcome, ob_error& error) noexcept;

/// Returns the code of `work`, an Outcome(), and keeps its failure. No exception leaves it.
template <class Work>
ob_status answer(Work&& work) noexcept {
  try {
    const Outcome outcome = std::forward<Work>(work)();
    return outcome.ok() ? OB_OK : keep(outcome);
  } catch (const std::bad_alloc&) {
    // this message needs no memory
    return keep(Outcome(Status(Code::out_of_memory, "out of memory")));
  } catch (...) {
    return keep(Outcome(Status(Code::internal, "a bug: exception")));
  }
}

}  // namespace ob::api

/// Marks the definition of an exported function.
#define OB_EXPORT extern "C" __attribute__((visibility("default")))
