#include "overlap/programs/operations.hpp"

#include <type_traits>

#include "overlap/clock.hpp"

namespace ob::overlap {
namespace {

template <class Handle>
std::uintptr_t key_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<std::uintptr_t>(handle);
  else
    return std::uintptr_t(unsigned(handle));
}

}  // namespace

void Operations::add(const Operation& operation) noexcept {
  const std::lock_guard guard(lock_);
  try {
    const auto [at, is_new] = operations_.try_emplace(key_of(operation.request), operation);
    // MPI gives several operations that are complete from the start the same handle.
    if (!is_new && at->second.done_ns == 0) moving_.fetch_sub(1, std::memory_order_relaxed);
    at->second = operation;
    if (operation.done_ns == 0) moving_.fetch_add(1, std::memory_order_relaxed);
  } catch (...) {
    // Without memory, the operation goes on as it does without the layer.
  }
  counted();
}

bool Operations::take(MPI_Request request, Operation& taken) noexcept {
  if (count() == 0) return false;
  const std::lock_guard guard(lock_);
  const auto at = operations_.find(key_of(request));
  if (at == operations_.end()) return false;
  taken = at->second;
  if (taken.done_ns == 0) moving_.fetch_sub(1, std::memory_order_relaxed);
  operations_.erase(at);
  counted();
  return true;
}

void Operations::drive() noexcept {
  const std::lock_guard guard(lock_);
  int looks = 0;
  for (auto& [key, operation] : operations_) {
    if (operation.done_ns != 0) continue;
    if (looks++ == kMost) break;
    int done = 0;
    const int rc = PMPI_Request_get_status(operation.request, &done, MPI_STATUS_IGNORE);
    operation.driven = true;
    if (rc == MPI_SUCCESS && !done) continue;
    operation.done_ns = now_ns();
    moving_.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace ob::overlap
