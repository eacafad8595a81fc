#include "command_lease.hpp"

#include <algorithm>
#include <utility>

#include "base/quiet_thread.hpp"
#include "base/thread_priority.hpp"
#include "pool/lease_answer.hpp"
#include "pool/manager_link.hpp"
#include "pool/random_name.hpp"
#include "say.hpp"
#include "transport/security.hpp"

namespace ob::apps {
namespace {

using std::chrono::milliseconds;

// The same as that of the whole command line (python/outboard/pool/hold.py).
constexpr std::uint64_t kLeaseSeconds = 120;
constexpr milliseconds kRenewAgain{2'000};
constexpr milliseconds kShortestPause{100};
// Devices of a lease that has just ended are free when their daemon has confirmed it, after some
// 50 ms, so that one command may follow another.
constexpr double kLongestWaitS = 0.15;
// A manager that takes longer is asked by the whole command line, which is patient.
constexpr milliseconds kAnswerTime{2'000};
// The command goes first where cores are few: to acquire takes about 10 ms of processor time, and
// a command that ends at once needs no accelerator.
constexpr int kNice = 10;
constexpr milliseconds kHeadStart{5};
// After no answer to the first question, the command shall not wait as long again.
constexpr milliseconds kMostAfterSilence{200};

milliseconds until_renewal(const pool::LeaseState& lease) {
  return std::max(kShortestPause, lease.until_renewal());
}

Result<pool::LeaseClient> client_of(const std::string& manager, const std::string& key) {
  OB_ASSIGN_OR_RETURN(const auto managers, pool::parse_managers(manager));
  std::shared_ptr<const transport::Security> security;
  if (!key.empty() && std::ranges::any_of(managers, &pool::ManagerAddress::secure)) {
    OB_ASSIGN_OR_RETURN(security, transport::load_key(key, transport::Side::client, false));
  }
  return pool::LeaseClient::at(manager, security);
}

}  // namespace

Result<std::unique_ptr<CommandLease>> CommandLease::named(Wish wish) {
  std::string id = pool::random_name();
  if (id.empty()) return Status(Code::internal, "no random numbers for the name of a lease");
  return std::unique_ptr<CommandLease>(new CommandLease(std::move(wish), std::move(id)));
}

template <class Work>
Status CommandLease::start(Work work) {
  thread_ = quiet_thread(work);
  return thread_.joinable() ? Status() : Status(Code::unavailable, "no thread for the lease");
}

Status CommandLease::acquire() {
  OB_ASSIGN_OR_RETURN(const Clock::duration pause, take());
  return start([this, pause] { keep(pause); });
}

void CommandLease::begin() noexcept {
  try {
    const Status started = start([this] { take_and_keep(); });
    if (!started.ok()) give_up(started);
  } catch (...) {  // no memory: the library waits once for the answer, and calls stay local
  }
}

// Returns the time until the first renewal.
Result<CommandLease::Clock::duration> CommandLease::take() {
  OB_ASSIGN_OR_RETURN(auto client, client_of(wish_.manager, wish_.key));
  manager_.emplace(std::move(client));
  if (ends_within({})) return Status(Code::unavailable, "the command has ended");
  pool::LeaseWish wish = wish_.lease;
  wish.seconds = kLeaseSeconds;
  wish.before_start = true;
  // The program goes on with another device. A lease has one part of a device, so for a shared one
  // there may be no other for ever, and it would wait before all others.
  wish.replaced = wish.exclusive;
  const auto asked = Clock::now();
  const auto state = manager_->put(id_, wish, kLongestWaitS, asked + kAnswerTime);
  // A refused request is not held. One that is queued is, and so may be one without an answer.
  is_held_ = state.ok();
  if (!state.ok()) {
    const bool may_be_held = state.status().code() != Code::unavailable;
    is_held_ = may_be_held && !manager_->release(id_, Clock::now() + kMostAfterSilence).ok();
    was_silent_ = is_held_;
    return state.status();
  }
  if (state->state != "held") {
    is_held_ = !manager_->release(id_, Clock::now() + kAnswerTime).ok();
    return Status(Code::busy,
                  "no accelerators are free (others hold them, or their daemons are away) give "
                  "--wait TIME, or see `outboard pool status`");
  }
  OB_RETURN_IF_ERROR(pool::hand_over(answer(), *state, asked));
  return Clock::duration(until_renewal(*state));
}

void CommandLease::take_and_keep() noexcept {
  set_thread_nice(kNice);
  try {
    if (ends_within(kHeadStart)) return;
    const auto pause = take();
    if (pause.ok()) return keep(*pause);
    if (!ends_within({})) give_up(pause.status());
  } catch (...) {  // no memory: the lease ends after its time, and calls stay local
  }
}

bool CommandLease::ends_within(Clock::duration pause) {
  std::unique_lock lock(mutex_);
  return ends_.wait_for(lock, pause, [&] { return ending_; });
}

void CommandLease::give_up(const Status& why) {
  say(why.message() + "; the command runs without accelerators");
  (void)pool::hand_over(answer(), {}, Clock::now());
}

void CommandLease::stop_renewing() noexcept {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    ends_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

CommandLease::~CommandLease() {
  stop_renewing();
  if (!is_held_) return;
  try {
    const auto patience = was_silent_ ? kMostAfterSilence : kAnswerTime;
    (void)manager_->release_early(id_, Clock::now() + patience);
  } catch (...) {  // no memory: the lease ends by itself
  }
}

void CommandLease::keep(Clock::duration pause) noexcept {
  try {
    while (pause != Clock::duration::max() && !ends_within(pause)) pause = renew();
  } catch (...) {  // no memory: the lease ends after its time
  }
}

// Returns the time until the next renewal; the longest if the lease is lost.
CommandLease::Clock::duration CommandLease::renew() {
  const auto lease = manager_->get(id_, std::nullopt, 0, Clock::now() + kAnswerTime);
  if (lease.ok() && lease->state == "held") return until_renewal(*lease);
  if (!lease.ok() && lease.status().code() != Code::fenced) return kRenewAgain;
  const std::string why = lease.ok() ? "it is " + lease->state : lease.status().message();
  say("the lease is lost (" + why + "); others may get its accelerators");
  return Clock::duration::max();
}

}  // namespace ob::apps
