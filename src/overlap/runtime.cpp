#include "overlap/runtime.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "overlap/clock.hpp"

namespace ob::overlap {
namespace {

// A wait spins this long before it offers its core to others, such as ranks that share it.
constexpr std::int64_t kSpin = 50'000;
// How often a wait for the proxy looks at the patience.
constexpr std::int64_t kLook = 100'000'000;
// The nap of a wait for the proxy while this thread has runs to move, too.
constexpr std::int64_t kNap = 200'000;

double seconds_since(std::int64_t begin) { return double(now_ns() - begin) * 1e-9; }

std::string line_of(const Plan& plan) {
  return "outboard: rank " + std::to_string(plan.world_rank()) + ": plan " + plan.name() + ": ";
}

std::string progress_before(double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, ", last progress %.1f s ago\n", seconds);
  return text;
}

std::string stuck_line(const Plan& plan, const Message& message, double seconds) {
  return line_of(plan) + (message.sends ? "not sent to rank " : "nothing from rank ") +
         std::to_string(message.peer) + ", " + std::to_string(message.bytes()) + " bytes of " +
         message.name + progress_before(seconds);
}

}  // namespace

Result<std::vector<Communicator>> Runtime::duplicates(MPI_Comm comm) const {
  std::vector<Communicator> made;
  do {
    OB_ASSIGN_OR_RETURN(Communicator one, Communicator::duplicate(comm));
    made.push_back(std::move(one));
  } while (made.size() < proxies_.size());
  return made;
}

Result<MovePlan*> Runtime::create_moves(std::string name, MPI_Comm comm) {
  OB_RETURN_IF_ERROR(check_thread());
  OB_ASSIGN_OR_RETURN(auto own, duplicates(comm));
  auto plan = std::make_unique<MovePlan>(std::move(name), std::move(own), rank_);
  MovePlan* const made = plan.get();
  plans_.push_back(std::move(plan));
  return made;
}

Result<PanelPlan*> Runtime::create_panels(std::string name, MPI_Comm comm,
                                          const PanelOptions& options) {
  OB_RETURN_IF_ERROR(check_thread());
  OB_ASSIGN_OR_RETURN(auto own, duplicates(comm));
  auto plan = std::make_unique<PanelPlan>(std::move(name), std::move(own), rank_, options);
  PanelPlan* const made = plan.get();
  plans_.push_back(std::move(plan));
  return made;
}

Status Runtime::destroy_plan(Plan* plan) {
  const auto found = std::find_if(plans_.begin(), plans_.end(),
                                  [&](const auto& owned) { return owned.get() == plan; });
  if (found == plans_.end())
    return Status(Code::invalid_argument, "the plan does not belong to the runtime");
  const Status settled = settle(*plan);
  if (!plan->over()) return settled;  // stuck: MPI and the proxy still use its memory
  for (const auto& run : plan->runs()) timeline_.ended(*run);
  plans_.erase(found);
  return settled;
}

Status Runtime::settle(Plan& plan) {
  if (!plan.over()) OB_RETURN_IF_ERROR(check_thread());
  plan.release_all();
  OB_RETURN_IF_ERROR(await_all(plan));
  return plan.finish_all();
}

Status Runtime::await_all(const Plan& plan) {
  for (const auto& run : plan.runs()) OB_RETURN_IF_ERROR(await(plan, *run, &Run::over));
  return {};
}

Status Runtime::commit(Plan& plan) {
  OB_RETURN_IF_ERROR(check_thread());
  return plan.commit(options_.check, candidates(), timeline_.trace());
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

Result<Mode> Runtime::next_mode(Plan& plan) {
  if (plan.choice == nullptr) {
    plan.note_iteration();
    if (!plan.trials().due()) return plan.trials().next();
    auto choice = std::make_unique<ModeChoice>();
    choice->times = plan.trials().medians();
    OB_RETURN_IF_ERROR(
        mpi_status("MPI_Iallreduce",
                   MPI_Iallreduce(MPI_IN_PLACE, choice->times.data(), int(choice->times.size()),
                                  MPI_DOUBLE, MPI_MAX, plan.comm().get(), &choice->request)));
    plan.choice = std::move(choice);
  }
  // A rank that has not come here yet may wait for a panel that this one passes on.
  std::int64_t idle_since = now_ns();
  for (int chosen = 0; chosen == 0;) {
    OB_RETURN_IF_ERROR(
        mpi_status("MPI_Test", MPI_Test(&plan.choice->request, &chosen, MPI_STATUS_IGNORE)));
    if (chosen != 0) break;
    if (poll()) {
      idle_since = now_ns();
      continue;
    }
    ::sched_yield();
    const double seconds = seconds_since(idle_since);
    if (seconds > options_.patience_s) {
      return give_up(line_of(plan) + "the choice of the mode waits for a rank that does not start" +
                     progress_before(seconds));
    }
  }
  plan.trials().choose(plan.choice->times);
  plan.choice.reset();
  return plan.trials().next();
}

void Runtime::launch(Run& run) {
  if (has_thread(run.mode())) return proxies_[run.proxy()]->post(run);
  if (run.begin().over) return;
  while (driving_.test_and_set(std::memory_order_acquire)) ::sched_yield();
  driven_.push_back(&run);
  driven_count_.store(int(driven_.size()), std::memory_order_relaxed);
  if (run.mode() == Mode::ticked) ticked_.fetch_add(1, std::memory_order_relaxed);
  driving_.clear(std::memory_order_release);
}

Status Runtime::start(MovePlan& plan, bool hold_sends) {
  const std::int64_t entered = timeline_.entered();
  OB_RETURN_IF_ERROR(check_thread());
  if (!plan.committed())
    return Status(Code::invalid_argument, "start before commit, call commit once");
  if (plan.under_way())
    return Status(Code::invalid_argument, "start twice without wait (a run is under way)");
  OB_ASSIGN_OR_RETURN(const Mode mode, next_mode(plan));
  const std::int64_t begin = now_ns();
  OB_RETURN_IF_ERROR(plan.prepare(mode, hold_sends));
  for (const auto& run : plan.runs()) launch(*run);
  const Status status = mode == Mode::sync && !hold_sends ? await_all(plan) : Status();
  plan.add_start(*plan.runs().front(), seconds_since(begin));
  std::int64_t since = entered;
  for (const auto& run : plan.runs()) {
    timeline_.started(plan.name(), *run, since);
    since = timeline_.entered();
  }
  return status;
}

Status Runtime::start(PanelPlan& plan, std::int64_t panel) {
  const std::int64_t entered = timeline_.entered();
  OB_RETURN_IF_ERROR(check_thread());
  OB_RETURN_IF_ERROR(plan.check_start(panel));
  OB_ASSIGN_OR_RETURN(const Mode mode, next_mode(plan));
  const std::int64_t begin = now_ns();
  Run& run = plan.next_run();
  OB_RETURN_IF_ERROR(await(plan, run, &Run::over));  // the panel before in the same buffer
  OB_RETURN_IF_ERROR(plan.prepare(panel, mode));
  launch(run);
  Status status;
  if (mode == Mode::sync) status = drive_until(plan, run, &Run::over);
  plan.add_start(run, seconds_since(begin));
  timeline_.started(plan.name(), run, entered);
  return status;
}

Status Runtime::wait(PanelPlan& plan, std::int64_t panel) {
  OB_RETURN_IF_ERROR(check_thread());
  OB_ASSIGN_OR_RETURN(Run* const run, plan.run_of(panel));
  const std::int64_t begin = now_ns();
  // The proxy calls MPI until the run is over, and the program may call MPI after the wait.
  const bool serialized = has_thread(run->mode()) && level_ < MPI_THREAD_MULTIPLE;
  OB_RETURN_IF_ERROR(await(plan, *run, serialized ? &Run::over : &Run::done));
  plan.add_wait(*run, seconds_since(begin));
  timeline_.waited(plan.name(), *run, begin);
  return plan.finish(panel);
}

bool Runtime::ticks(const Plan& plan) noexcept {
  return std::any_of(plan.runs().begin(), plan.runs().end(),
                     [](const auto& run) { return run->mode() == Mode::ticked && !run->over(); });
}

Status Runtime::ready(MovePlan& plan, const Box& box) {
  const std::int64_t entered = timeline_.entered();
  OB_RETURN_IF_ERROR(check_thread());
  if (!plan.under_way()) return Status(Code::invalid_argument, "ready outside of start and wait");
  OB_RETURN_IF_ERROR(plan.ready(box));
  const Mode mode = plan.runs().front()->mode();
  if (has_thread(mode)) {
    for (const auto& proxy : proxies_) proxy->wake();
    return {};
  }
  if (mode == Mode::sync && !plan.any_held()) return await_all(plan);
  timeline_.called("ready", poll(), entered);
  return {};
}

Status Runtime::tick() {
  if (ticked_.load(std::memory_order_relaxed) == 0) return {};
  if (!check_thread().ok()) return {};
  const std::int64_t entered = timeline_.entered();
  timeline_.called("tick", poll(), entered);
  return {};
}

bool Runtime::poll() {
  // A thread that finds another one here goes on computing.
  if (driving_.test_and_set(std::memory_order_acquire)) return false;
  bool moved = false;
  const auto over = std::remove_if(driven_.begin(), driven_.end(), [&](Run* run) {
    const bool ticked = run->mode() == Mode::ticked;
    const Run::Progress progress = run->drive();
    moved |= progress.moved;
    if (progress.over && ticked) ticked_.fetch_sub(1, std::memory_order_relaxed);
    return progress.over;
  });
  driven_.erase(over, driven_.end());
  driven_count_.store(int(driven_.size()), std::memory_order_relaxed);
  driving_.clear(std::memory_order_release);
  return moved;
}

Status Runtime::wait(MovePlan& plan) {
  OB_RETURN_IF_ERROR(check_thread());
  if (!plan.under_way()) return Status(Code::invalid_argument, "wait without start");
  plan.release_all();
  for (const auto& run : plan.runs()) {
    const std::int64_t begin = now_ns();
    OB_RETURN_IF_ERROR(await(plan, *run, &Run::over));
    plan.add_wait(*run, seconds_since(begin));
    timeline_.waited(plan.name(), *run, begin);
  }
  return plan.finish();
}

Status Runtime::await(const Plan& plan, const Run& run, Reached reached) {
  return has_thread(run.mode()) ? await_proxy(plan, run, reached) : drive_until(plan, run, reached);
}

Status Runtime::drive_until(const Plan& plan, const Run& run, Reached reached) {
  std::int64_t idle_since = now_ns();
  while (!(run.*reached)()) {
    if (poll()) {
      idle_since = now_ns();
      continue;
    }
    const std::int64_t idle = now_ns() - idle_since;
    if (idle > kSpin) ::sched_yield();
    if (double(idle) * 1e-9 > options_.patience_s) return stuck(plan, run);
  }
  return {};
}

Status Runtime::await_proxy(const Plan& plan, const Run& run, Reached reached) {
  if ((run.*reached)()) return {};
  Proxy& proxy = *proxies_[run.proxy()];
  proxy.wake();  // sends may have been released
  const std::int64_t begin = now_ns();
  while (!(run.*reached)()) {
    if (proxy.own_core() && now_ns() - begin < kSpin) continue;
    // Runs of other modes, which this thread moves, may be needed by ranks that this one needs.
    poll();
    proxy.await(run, reached, driven_count_.load(std::memory_order_relaxed) > 0 ? kNap : kLook);
    const std::int64_t since = std::max(begin, run.exchange()->moved_ns());
    if (!(run.*reached)() && seconds_since(since) > options_.patience_s) return stuck(plan, run);
  }
  return {};
}

Status Runtime::stuck(const Plan& plan, const Run& run) {
  const double seconds = seconds_since(run.exchange()->moved_ns());
  std::string report;
  const std::vector<Message>& messages = run.exchange()->messages();
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (run.exchange()->open(i)) report += stuck_line(plan, messages[i], seconds);
  return give_up(report);
}

Status Runtime::give_up(const std::string& report) {
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
