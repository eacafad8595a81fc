#include "algorithms/panels/pipeline.hpp"

#include <algorithm>

#include "device/stopwatch.hpp"

namespace ob::algorithms {

Pipeline::Pipeline(const CallContext& context)
    : device_(context.device),
      queue_(context.queue),
      timings_(context.timings),
      commits_(context.commits) {
  if (context.residency != nullptr) resident_.emplace(*context.residency);
}

Pipeline::~Pipeline() {
  // No command is pending at this point.
  try {
    if (event_) (void)device_.destroy_event(event_);
    if (fetched_) (void)device_.destroy_event(fetched_);
    if (back_) (void)device_.destroy_queue(back_);
  } catch (...) {  // no memory for the request: closing the connection frees them
  }
}

Status Pipeline::run(double needed_bytes, const std::function<Status()>& submit,
                     const std::function<void()>& commit) {
  const Stopwatch watch;
  const Status status = submit_all(needed_bytes, submit);
  timings_.to_server_ns = watch.elapsed_ns();
  if (!status.ok()) return abandon(status);
  const QueueReport back = device_.synchronize(back_);
  const QueueReport report = device_.synchronize(queue_);
  OB_RETURN_IF_ERROR(report.status);
  OB_RETURN_IF_ERROR(back.status);
  OB_RETURN_IF_ERROR(commit_or_wait(commits_, commit));
  if (resident_) resident_->succeeded();
  const std::uint64_t after_ns = watch.elapsed_ns() - timings_.to_server_ns;
  timings_.compute_ns += report.compute_ns;
  timings_.waited_ns += report.waited_ns;
  timings_.from_server_ns = after_ns - std::min(after_ns, report.compute_ns + report.waited_ns);
  return {};
}

Status Pipeline::submit_all(double needed_bytes, const std::function<Status()>& submit) {
  // The error is reported before any operand is transferred.
  if (needed_bytes > static_cast<double>(device_.info().memory_bytes)) {
    return no_room(device_, static_cast<std::uint64_t>(std::min(needed_bytes, 1.8e19)));
  }
  OB_ASSIGN_OR_RETURN(back_, device_.create_queue());
  OB_ASSIGN_OR_RETURN(event_, device_.create_event());
  return submit();
}

// After a failure no pending read may write to host memory.
Status Pipeline::abandon(const Status& failure) {
  const Status first = settle(device_, queue_, failure);
  return back_ ? settle(device_, back_, first) : first;
}

Status Pipeline::place(const PlacedOperand& operand, Part& part) {
  if (resident_) {
    OB_ASSIGN_OR_RETURN(const auto placement, resident_->place(queue_, operand));
    if (placement) {
      part.buffer = placement->buffer;
      timings_.bytes_to += placement->sent_bytes;
      timings_.bytes_kept += placement->kept_bytes;
      timings_.compute_ns += placement->compute_ns;
      timings_.waited_ns += placement->waited_ns;
      return {};
    }
  }
  OB_RETURN_IF_ERROR(allocate(extent_bytes(operand.there), part));
  return operand.read ? send(operand, part.buffer) : Status();
}

Status Pipeline::send(const PlacedOperand& operand, BufferId buffer) {
  const Layout home = Layout::matrix(operand.data, operand.home);
  timings_.bytes_to += home.total_bytes();
  return device_.write(queue_, buffer, operand.there, home);
}

Status Pipeline::allocate(std::uint64_t size_bytes, Part& part) {
  OB_RETURN_IF_ERROR(part.own.emplace(device_).allocate(size_bytes));
  part.buffer = part.own->id();
  return {};
}

Status Pipeline::call(const Descriptor& routine, const Argument* arguments) {
  return device_.call(queue_, routine, arguments);
}

Status Pipeline::fetch(BufferId buffer, const Region& region, const Layout& landing) {
  OB_RETURN_IF_ERROR(device_.record(queue_, event_));
  OB_RETURN_IF_ERROR(device_.wait(back_, event_));
  timings_.bytes_from += landing.total_bytes();
  return device_.read(back_, buffer, region, landing);
}

Status Pipeline::hold_calls() {
  if (!fetched_) {
    OB_ASSIGN_OR_RETURN(fetched_, device_.create_event());
  }
  OB_RETURN_IF_ERROR(device_.record(back_, fetched_));
  return device_.wait(queue_, fetched_);
}

}  // namespace ob::algorithms
