#include "daemon/pool/device_health.hpp"

#include <exception>
#include <optional>
#include <utility>

#include "daemon/io/log.hpp"

namespace ob::daemon {
namespace {

using Verdict = SelfTest::Verdict;

// A device that is busy for longer could not be tested.
constexpr std::chrono::seconds kTestTimeout{10};

}  // namespace

DeviceHealth::DeviceHealth(Leases& leases, Config config)
    : leases_(leases),
      config_(std::move(config)),
      watched_(config_.devices.size()),
      thread_([this] { run(); }) {}

DeviceHealth::~DeviceHealth() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

DeviceHealth::Report DeviceHealth::report(std::size_t device) {
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mutex_);
  const Watched& watched = watched_[device];
  if (is_due(device, now)) changed_.notify_all();
  return {leases_.errors(device).sessions(now), watched.fatal, watched.tests_ok};
}

void DeviceHealth::set_broken(std::size_t device, bool broken) {
  const std::lock_guard lock(mutex_);
  Watched& watched = watched_[device];
  if (watched.broken == broken) return;
  ++watched.changes;
  watched.broken = broken;
  watched.tests_ok = 0;
  if (broken) {
    watched.last_test = Clock::now();
    return;
  }
  DeviceErrors& errors = leases_.errors(device);
  errors.forget();
  watched.fatal = false;
  watched.noted = errors.noted();
  watched.last_test = Clock::time_point::min();
}

bool DeviceHealth::is_due(std::size_t device, Clock::time_point now) const {
  const Watched& watched = watched_[device];
  const bool wanted = watched.broken || leases_.errors(device).noted() != watched.noted;
  return wanted && (watched.last_test == Clock::time_point::min() ||
                    now - watched.last_test >= config_.interval);
}

void DeviceHealth::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const Clock::time_point now = Clock::now();
    std::optional<std::size_t> next;
    for (std::size_t device = 0; device < watched_.size() && !next; ++device) {
      if (is_due(device, now)) next = device;
    }
    if (!next) {
      changed_.wait(lock);  // for the next report, or the end
      continue;
    }
    const std::uint64_t changes = watched_[*next].changes;
    const std::uint64_t noted = leases_.errors(*next).noted();
    lock.unlock();
    const SelfTest result = test(*next);
    lock.lock();
    Watched& watched = watched_[*next];
    watched.last_test = Clock::now();
    if (watched.changes != changes || result.verdict == Verdict::unknown) continue;
    watched.noted = noted;
    watched.fatal = result.verdict == Verdict::wrong;
    if (watched.fatal) watched.tests_ok = 0;
    if (!watched.fatal && watched.broken) ++watched.tests_ok;
  }
}

SelfTest DeviceHealth::test(std::size_t device) {
  SelfTest result;
  try {
    const auto gives_up = [this, began = Clock::now()] { return this->gives_up(began); };
    result = config_.test(device, gives_up);
    // The process of the test may have been ended, for example because memory was short.
    const bool again = result.verdict == Verdict::wrong && leases_.errors(device).isolated();
    if (again) result = config_.test(device, gives_up);
  } catch (const std::exception& error) {  // most likely out of memory
    result = {Verdict::unknown, error.what()};
  }
  const std::string& name = config_.devices[device];
  if (result.verdict == Verdict::right) log::info("device " + name + ": self-test right");
  if (result.verdict == Verdict::wrong) log::warn("device " + name + ": self-test: " + result.why);
  if (result.verdict == Verdict::unknown) {
    log::info("device " + name + ": no self-test was possible: " + result.why);
  }
  return result;
}

bool DeviceHealth::gives_up(Clock::time_point began) {
  const std::lock_guard lock(mutex_);
  return stopping_ || Clock::now() - began > kTestTimeout;
}

}  // namespace ob::daemon
