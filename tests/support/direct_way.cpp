#include <chrono>
#include <future>
#include <memory>

#include "support/hostile_session.hpp"

namespace ob::test {

Status DirectWay::call(QueueId queue, const Descriptor& routine, const Argument* arguments) {
  return device_.call(queue, routine, arguments);
}

Status DirectWay::transform(QueueId queue, const FftPlan& plan, BufferRef input, BufferRef output) {
  OB_ASSIGN_OR_RETURN(const PlanId id, device_.make_plan(plan, account_));
  const Status status = device_.execute(queue, id, input, output);
  OB_RETURN_IF_ERROR(device_.destroy_plan(id));
  return status;
}

Result<BufferId> DirectWay::allocate(std::uint64_t size_bytes) {
  return device_.allocate(size_bytes, account_);
}

Status DirectWay::free(BufferId buffer) { return device_.free(buffer); }

Status DirectWay::wait(QueueId queue) {
  // Far longer than any call that ends by itself.
  constexpr auto kLongest = std::chrono::seconds(5);
  const auto done = std::make_shared<std::promise<Status>>();
  std::future<Status> status = done->get_future();
  OB_RETURN_IF_ERROR(device_.on_reached(
      queue, true, [done](const QueueReport& report) { done->set_value(report.status); }));
  if (status.wait_for(kLongest) != std::future_status::ready) {
    abandoned_ = true;
    OB_RETURN_IF_ERROR(device_.abandon(queue));
  }
  return status.get();
}

}  // namespace ob::test
