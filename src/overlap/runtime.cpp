#include "overlap/runtime.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdio>

#include "overlap/clock.hpp"

namespace ob::overlap {
namespace {

// A wait spins this long before it offers its core to others, such as ranks that share it.
constexpr std::int64_t kSpin = 50'000;
// How often a wait for the proxy looks at the patience.
constexpr std::int64_t kLook = 100'000'000;

double seconds_since(std::int64_t begin) { return double(now_ns() - begin) * 1e-9; }

std::string stuck_line(const Plan& plan, const Message& message, double seconds) {
  char since[32];
  std::snprintf(since, sizeof since, "%.1f s", seconds);
  return "outboard: rank " + std::to_string(plan.world_rank()) + ": plan " + plan.name() +
         (message.sends ? ": not sent to rank " : ": nothing from rank ") +
         std::to_string(message.peer) + ", " + std::to_string(message.bytes()) + " bytes of " +
         message.name + ", last progress " + since + " ago\n";
}

}  // namespace

Result<Plan*> Runtime::create_plan(std::string name, MPI_Comm comm) {
  OB_RETURN_IF_ERROR(check_thread());
  OB_ASSIGN_OR_RETURN(Communicator own, Communicator::duplicate(comm));
  plans_.push_back(std::make_unique<Plan>(std::move(name), std::move(own), rank_));
  return plans_.back().get();
}

Status Runtime::destroy_plan(Plan* plan) {
  const auto found = std::find_if(plans_.begin(), plans_.end(),
                                  [&](const auto& owned) { return owned.get() == plan; });
  if (found == plans_.end())
    return Status(Code::invalid_argument, "the plan does not belong to the runtime");
  Status waited;
  if (plan->under_way()) waited = wait(*plan);
  if (!plan->over()) return waited;  // stuck: MPI and the proxy still use its memory
  plans_.erase(found);
  return waited;
}

Status Runtime::commit(Plan& plan) {
  OB_RETURN_IF_ERROR(check_thread());
  return plan.commit(options_.check, candidates());
}

Status Runtime::check_thread() const {
  if (key_ == MPI_KEYVAL_INVALID)
    return Status(Code::invalid_argument, "MPI_Finalize has ended MPI, detach before it");
  int main_thread = 1;
  if (!thread_permitted()) MPI_Is_thread_main(&main_thread);
  if (main_thread != 0) return {};
  return Status(Code::invalid_argument,
                "call from a thread that did not initialise MPI (MPI provides no more) use "
                "MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE");
}

Status Runtime::start(Plan& plan, bool hold_sends) {
  OB_RETURN_IF_ERROR(check_thread());
  if (!plan.committed())
    return Status(Code::invalid_argument, "start before commit, call commit once");
  if (plan.under_way())
    return Status(Code::invalid_argument, "start twice without wait (a run is under way)");
  OB_ASSIGN_OR_RETURN(const Mode mode, plan.next_mode());
  const std::int64_t begin = now_ns();
  OB_RETURN_IF_ERROR(plan.prepare(mode, hold_sends));
  if (has_thread(mode)) {
    proxy_->post(plan);
  } else if (!plan.begin().over) {
    while (driving_.test_and_set(std::memory_order_acquire)) ::sched_yield();
    driven_.push_back(&plan);
    if (mode == Mode::ticked) ticked_.fetch_add(1, std::memory_order_relaxed);
    driving_.clear(std::memory_order_release);
  }
  Status status;
  if (mode == Mode::sync && !hold_sends) status = drive_until_over(plan);
  plan.add_start(seconds_since(begin));
  return status;
}

Status Runtime::ready(Plan& plan, const Box& box) {
  OB_RETURN_IF_ERROR(check_thread());
  if (!plan.under_way()) return Status(Code::invalid_argument, "ready outside of start and wait");
  OB_RETURN_IF_ERROR(plan.ready(box));
  if (has_thread(plan.mode())) {
    proxy_->wake();
    return {};
  }
  if (plan.mode() == Mode::sync && !plan.exchange().any_held()) return drive_until_over(plan);
  poll();
  return {};
}

Status Runtime::tick() {
  if (ticked_.load(std::memory_order_relaxed) == 0) return {};
  if (check_thread().ok()) poll();
  return {};
}

bool Runtime::poll() {
  // A thread that finds another one here goes on computing.
  if (driving_.test_and_set(std::memory_order_acquire)) return false;
  bool moved = false;
  const auto over = std::remove_if(driven_.begin(), driven_.end(), [&](Plan* plan) {
    const bool ticked = plan->mode() == Mode::ticked;
    const Plan::Progress progress = plan->drive();
    moved |= progress.moved;
    if (progress.over && ticked) ticked_.fetch_sub(1, std::memory_order_relaxed);
    return progress.over;
  });
  driven_.erase(over, driven_.end());
  driving_.clear(std::memory_order_release);
  return moved;
}

Status Runtime::wait(Plan& plan) {
  OB_RETURN_IF_ERROR(check_thread());
  if (!plan.under_way()) return Status(Code::invalid_argument, "wait without start");
  const std::int64_t begin = now_ns();
  plan.release_all();
  OB_RETURN_IF_ERROR(has_thread(plan.mode()) ? await_proxy(plan) : drive_until_over(plan));
  plan.add_wait(seconds_since(begin));
  return plan.finish();
}

Status Runtime::drive_until_over(Plan& plan) {
  std::int64_t idle_since = now_ns();
  while (!plan.over()) {
    if (poll()) {
      idle_since = now_ns();
      continue;
    }
    const std::int64_t idle = now_ns() - idle_since;
    if (idle > kSpin) ::sched_yield();
    if (double(idle) * 1e-9 > options_.patience_s)
      return stuck(plan, seconds_since(plan.exchange().moved_ns()));
  }
  return {};
}

Status Runtime::await_proxy(Plan& plan) {
  proxy_->wake();  // sends may have been released
  const std::int64_t begin = now_ns();
  while (!plan.over()) {
    if (proxy_->own_core() && now_ns() - begin < kSpin) continue;
    proxy_->await(plan, kLook);
    const std::int64_t since = std::max(begin, plan.exchange().moved_ns());
    if (!plan.over() && seconds_since(since) > options_.patience_s)
      return stuck(plan, seconds_since(plan.exchange().moved_ns()));
  }
  return {};
}

Status Runtime::stuck(const Plan& plan, double seconds) {
  std::string report;
  const std::vector<Message>& messages = plan.exchange().messages();
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (plan.exchange().open(i)) report += stuck_line(plan, messages[i], seconds);
  if (options_.on_stuck != nullptr) {
    options_.on_stuck(report.c_str(), options_.context);
  } else {
    std::fputs(report.c_str(), stderr);
    std::fflush(stderr);
    MPI_Abort(comm_.get(), 1);
  }
  return Status(Code::deadline_exceeded, "nothing has moved for the patience (" + report + ")");
}

}  // namespace ob::overlap
