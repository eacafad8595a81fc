#include "overlap/programs/completion.hpp"

#include <algorithm>

#include "overlap/clock.hpp"

namespace ob::overlap {

Completion::Completion(std::uintptr_t place, const char* function, bool tests) noexcept
    : layer_(Layer::instance()), place_(place), function_(function), tests_(tests) {
  if (!tests_) layer_.driver().program_drives(1);
}

Completion::~Completion() {
  if (!tests_) layer_.driver().program_drives(-1);
  bool goes_on = false;
  for (const Taken& left : taken_) {
    if (!left.is_held()) continue;
    layer_.operations().add(left.operation);
    goes_on = goes_on || left.operation.done_ns == 0;
  }
  if (goes_on) layer_.driver().wake();  // it may sleep since they were taken
}

void Completion::take(int index, MPI_Request request, const MPI_Request* at,
                      const MPI_Fint* at_fortran, MPI_Fint before) noexcept {
  Operation operation;
  if (!layer_.operations().take(request, operation)) return;
  if (arrived_ns_ == 0) arrived_ns_ = now_ns();
  try {
    taken_.push_back({index, at, at_fortran, before, operation});
  } catch (...) {
    // Without memory, the operation is not accounted for, and MPI completes it as ever.
  }
}

void Completion::finish(const int* indices, int count, int first, bool all) noexcept {
  if (taken_.empty()) return;
  const std::int64_t now = now_ns();
  // MPICH 4.0 counts from 0 in mpi_f08, so the handles have a say.
  const auto is_done = [&](const Taken& taken) {
    return all || !taken.is_held() ||
           std::find(indices, indices + count, first + taken.index) != indices + count;
  };
  const auto done = std::partition(taken_.begin(), taken_.end(),
                                   [&](const Taken& taken) { return !is_done(taken); });
  if (done == taken_.end()) return;
  CallSite call{function_, 1, 0, 0, 0, now - arrived_ns_};
  std::int64_t first_start = arrived_ns_;
  std::int64_t last_done = 0;
  for (auto at = done; at != taken_.end(); ++at) {
    const Operation& operation = at->operation;
    if (operation.runs_code) layer_.operations().release();
    ++call.operations;
    call.bytes += operation.bytes;
    if (!operation.driven) continue;  // nobody saw whether it moved before this call
    first_start = std::min(first_start, operation.start_ns);
    const std::int64_t seen = operation.done_ns == 0 ? arrived_ns_ : operation.done_ns;
    last_done = std::max(last_done, std::min(seen, arrived_ns_));
  }
  call.hidden_ns = std::max<std::int64_t>(0, last_done - first_start);
  layer_.completed(place_, call, now);
  trace(call, now, {done, taken_.end()});
  taken_.erase(done, taken_.end());
}

void Completion::trace(const CallSite& call, std::int64_t now,
                       std::span<const Taken> done) noexcept {
  if (!layer_.trace().wanted()) return;
  try {
    std::vector<Operation> operations;
    for (const Taken& taken : done) operations.push_back(taken.operation);
    layer_.trace().completed(place_, call, now, operations);
  } catch (...) {
    // Without memory, the call is missing in the trace.
  }
}

}  // namespace ob::overlap
