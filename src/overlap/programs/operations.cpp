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

// The functions of a generalized request that never ends of itself. It has nothing to tell.
int query(void*, MPI_Status* status) {
  PMPI_Status_set_elements(status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
int free_state(void*) { return MPI_SUCCESS; }
int cancel(void*, int) { return MPI_SUCCESS; }

}  // namespace

bool Operations::open() noexcept {
  const int rc = PMPI_Grequest_start(query, free_state, cancel, nullptr, &open_request_);
  if (rc != MPI_SUCCESS) open_request_ = MPI_REQUEST_NULL;
  return rc == MPI_SUCCESS;
}

void Operations::close() noexcept {
  if (open_request_ == MPI_REQUEST_NULL) return;
  PMPI_Grequest_complete(open_request_);
  PMPI_Request_free(&open_request_);
}

void Operations::hold() noexcept {
  const std::lock_guard guard(lock_);
  ++held_;
}

void Operations::release() noexcept {
  const std::lock_guard guard(lock_);
  --held_;
}

void Operations::add(const Operation& operation) noexcept {
  const std::lock_guard guard(lock_);
  try {
    const auto [at, is_new] = operations_.try_emplace(key_of(operation.request), operation);
    // MPI gives several operations that are complete from the start the same handle.
    if (!is_new && at->second.done_ns == 0) moves(at->second, -1);
    if (!is_new && at->second.runs_code) --held_;
    at->second = operation;
    if (operation.done_ns == 0) moves(operation, 1);
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
  if (taken.done_ns == 0) moves(taken, -1);
  operations_.erase(at);
  counted();
  return true;
}

void Operations::drive() noexcept {
  const std::lock_guard guard(lock_);
  if (held_ > 0) return;
  int looks = 0;
  int done = 0;
  for (auto& [key, operation] : operations_) {
    if (operation.done_ns != 0) continue;
    operation.driven = true;
    if (!operation.is_asked || looks == kMost) continue;
    ++looks;
    const int rc = PMPI_Request_get_status(operation.request, &done, MPI_STATUS_IGNORE);
    if (rc == MPI_SUCCESS && !done) continue;
    operation.done_ns = now_ns();
    moves(operation, -1);
  }
  if (looks == 0 && open_request_ != MPI_REQUEST_NULL)
    PMPI_Request_get_status(open_request_, &done, MPI_STATUS_IGNORE);
}

}  // namespace ob::overlap
