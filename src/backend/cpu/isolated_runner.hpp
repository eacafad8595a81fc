#pragma once
// Calls and transforms in executor processes.

#include <atomic>
#include <functional>
#include <memory>

#include "backend/cpu/call_runner.hpp"
#include "backend/cpu/isolation.hpp"
#include "backend/cpu/libraries.hpp"
#include "device/host_segment.hpp"
#include "executor/executors.hpp"

namespace ob::cpu {

/// Passes calls to the executor of their client, which maps the segments of the operands. An
/// executor that has ended is replaced by the next call; it gets segments and plans again.
class IsolatedRunner final : public CallRunner {
 public:
  /// @param libraries tell which transforms there are
  IsolatedRunner(Isolation isolation, executor::Program program,
                 std::shared_ptr<const Libraries> libraries);

  /// Waits until executors can be started.   Errors: unavailable if they cannot
  Status await_ready() { return executors_.await_standby(); }

  Status prepare(const Account& account) override { return executor_of(account).status(); }
  Status run(const HostCall& call, const Caller& caller) override;
  Result<std::shared_ptr<TransformPlan>> plan(const FftPlan& plan, const Account& account) override;
  std::uint64_t executor_deaths() const noexcept override { return executors_.deaths(); }

 private:
  class Plan;
  executor::Owner owner_of(const Account& account) const noexcept;
  Result<std::shared_ptr<executor::Process>> executor_of(const Account& account);
  Result<BufferId> mapped(const std::shared_ptr<executor::Process>& process, HostSegment& segment,
                          const Caller& caller);
  Result<BufferRef> place(const std::shared_ptr<executor::Process>& process,
                          const std::shared_ptr<const void>& buffer, const void* address,
                          const Caller& caller);
  Status execute(Plan& plan, const HostTransform& transform, const Caller& caller);

  const Isolation isolation_;
  const std::shared_ptr<const Libraries> libraries_;
  std::atomic<std::uint64_t> last_id_{0};  // of segments and plans in executors
  executor::Executors executors_;
};

}  // namespace ob::cpu
