#include "api/lease_objects.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/quiet_thread.hpp"
#include "pool/random_name.hpp"

namespace ob::api {
namespace {

using std::chrono::milliseconds;

// The manager delays one answer so long at most.
constexpr milliseconds kLongestWait{25'000};
// It gets so long for its answer, beside the time that it was asked to wait.
constexpr milliseconds kAnswerTime{5'000};
// After a renewal that failed.
constexpr milliseconds kRenewAgain{2'000};
// The end of the process waits so long for each manager.
constexpr milliseconds kMostAtExit{200};
// A lease ends soon if only this part of its time is left.
constexpr int kLastPart = 3;

double seconds(milliseconds time) { return std::chrono::duration<double>(time).count(); }

struct AtExit {
  std::mutex mutex;
  std::vector<std::weak_ptr<HeldLease>> leases;
};

// It is never destroyed, because a handler at exit uses it.
AtExit& at_exit() {
  static auto* const known = new AtExit;
  return *known;
}

void give_all_back() {
  std::vector<std::weak_ptr<HeldLease>> leases;
  {
    const std::lock_guard lock(at_exit().mutex);
    leases.swap(at_exit().leases);
  }
  for (const auto& known : leases) {
    if (const auto lease = known.lock()) lease->give_back_at_exit();
  }
}

}  // namespace

void give_back_at_exit(const std::shared_ptr<HeldLease>& lease) {
  static const int registered = std::atexit(give_all_back);
  (void)registered;
  AtExit& all = at_exit();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.leases, [](const auto& known) { return known.expired(); });
  all.leases.push_back(lease);
}

HeldLease::HeldLease(LeaseTerms terms) : terms_(std::move(terms)), process_(::getpid()) {}

HeldLease::~HeldLease() { end_thread(); }

Result<pool::LeaseClient> HeldLease::manager() const {
  return pool::LeaseClient::at(terms_.manager, terms_.security);
}

Result<pool::LeaseState> HeldLease::acquire(pool::LeaseClient& manager, const std::string& id,
                                            std::uint32_t devices, Deadline until) const {
  pool::LeaseWish wish = terms_.wish;
  wish.devices = devices;
  for (bool is_first = true;; is_first = false) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
    const milliseconds wait = std::clamp(left, milliseconds(0), kLongestWait);
    const auto deadline = Clock::now() + wait + kAnswerTime;
    auto lease = is_first ? manager.put(id, wish, seconds(wait), deadline)
                          : manager.get(id, std::nullopt, seconds(wait), deadline);
    if (!lease.ok() || lease->state == "held") return lease;
    if (lease->state != "queued") return Status(Code::fenced, "the lease was ended at once");
    if (left > wait) continue;
    (void)manager.release(id, Clock::now() + kAnswerTime);
    return Status(Code::busy, "no devices are free in the pool at " + terms_.manager +
                                  " (others hold them); wait longer, or ask for fewer");
  }
}

Result<HeldLease::Part> HeldLease::open(std::string id, const pool::LeaseState& lease,
                                        Clock::time_point asked) const {
  Part part{.id = std::move(id), .renew_at = {}, .ends_at = {}, .devices = {}};
  part.ends_at = asked + lease.left();
  part.renew_at = asked + lease.until_renewal();
  Status failure;
  for (const pool::LeaseHandle& handle : lease.handles) {
    const auto device = terms_.open(handle);
    failure = device.status();
    if (!failure.ok()) break;
    part.devices.push_back({handle.device, *device});
  }
  if (failure.ok()) return part;
  for (const LeasedDevice& device : part.devices) terms_.close(device.handle);
  return failure;
}

Status HeldLease::add(std::uint32_t devices, Deadline until) {
  OB_ASSIGN_OR_RETURN(auto manager, this->manager());
  const std::string id = pool::random_name();
  if (id.empty()) return {Code::internal, "no random numbers for the name of a lease"};
  const auto asked = Clock::now();
  OB_ASSIGN_OR_RETURN(const pool::LeaseState lease, acquire(manager, id, devices, until));
  auto part = open(id, lease, asked);
  if (!part.ok()) {
    (void)manager.release(id, Clock::now() + kAnswerTime);
    return part.status();
  }
  const std::lock_guard lock(mutex_);
  OB_RETURN_IF_ERROR(start());
  for (const LeasedDevice& device : part->devices) report(OB_LEASE_GIVEN, device.handle);
  parts_.push_back(std::move(part).value());
  changed_.notify_all();
  return {};
}

Status HeldLease::start() {
  if (thread_.joinable()) return {};
  thread_ = quiet_thread([this] { keep(); });
  if (thread_.joinable()) return {};
  return {Code::unavailable, "no thread for the lease (the system has no more)"};
}

Result<ob_device> HeldLease::device(std::uint32_t index) const {
  const std::lock_guard lock(mutex_);
  std::uint32_t count = 0;
  for (const Part& part : parts_) {
    for (const LeasedDevice& device : part.devices) {
      if (!device.is_taken && count++ == index) return device.handle;
    }
  }
  return Status(Code::invalid_argument, "no device " + std::to_string(index) + "; the lease has " +
                                            std::to_string(count) +
                                            " of them, which are counted from 0");
}

Status HeldLease::remove(ob_device device) {
  std::string id;
  std::string name;
  bool is_last = false;
  {
    const std::lock_guard lock(mutex_);
    for (Part& part : parts_) {
      const auto at = std::ranges::find(part.devices, device, &LeasedDevice::handle);
      if (at == part.devices.end()) continue;
      id = part.id;
      name = at->name;
      part.devices.erase(at);
      is_last = part.devices.empty();
    }
    if (is_last) std::erase_if(parts_, [&](const Part& part) { return part.id == id; });
  }
  if (id.empty()) return {Code::invalid_argument, "the lease has no such device"};
  terms_.close(device);
  OB_ASSIGN_OR_RETURN(auto manager, this->manager());
  const auto deadline = Clock::now() + kAnswerTime;
  const Status given = is_last ? manager.release(id, deadline) : manager.shrink(id, name, deadline);
  // Nothing is left to give back of a lease that is over.
  return given.code() == Code::fenced ? Status() : given;
}

void HeldLease::end_thread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void HeldLease::release() {
  end_thread();
  std::vector<Part> parts;
  {
    const std::lock_guard lock(mutex_);
    parts.swap(parts_);
    watcher_ = nullptr;
  }
  auto manager = this->manager();
  for (const Part& part : parts) {
    for (const LeasedDevice& device : part.devices) terms_.close(device.handle);
    if (manager.ok()) (void)manager->release(part.id, Clock::now() + kAnswerTime);
  }
  callbacks_->wait();
}

void HeldLease::give_back_at_exit() noexcept {
  if (::getpid() != process_) return;  // a forked child has no lease of its parent
  try {
    std::vector<std::string> ids;
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      for (const Part& part : parts_) ids.push_back(part.id);
      parts_.clear();
    }
    auto manager = this->manager();
    const auto deadline = Clock::now() + kMostAtExit;
    for (const std::string& id : ids) {
      if (manager.ok()) (void)manager->release_early(id, deadline);
    }
  } catch (...) {  // no memory: the lease ends by itself
  }
}

Status HeldLease::watch(void (*changed)(void* user, int32_t what, ob_device device), void* user) {
  std::shared_ptr<client::Proxy> proxy;
  if (changed != nullptr) {
    OB_ASSIGN_OR_RETURN(proxy, client::Proxy::acquire());
  }
  {
    const std::lock_guard lock(mutex_);
    watcher_ = changed;
    user_ = user;
    proxy_.swap(proxy);
  }
  callbacks_->wait();  // the program may now free what the one before used
  return {};
}

void HeldLease::report(std::int32_t what, ob_device device) {
  if (watcher_ == nullptr) return;
  callbacks_->begin();
  proxy_->post([changed = watcher_, user = user_, what, device, callbacks = callbacks_] {
    changed(user, what, device);
    callbacks->end();
  });
}

void HeldLease::keep() noexcept {
  try {
    std::unique_lock lock(mutex_);
    while (!ending_) {
      auto due = Clock::time_point::max();
      for (const Part& part : parts_) {
        if (!part.is_over) due = std::min(due, part.renew_at);
      }
      if (due == Clock::time_point::max()) {
        changed_.wait(lock);
      } else if (Clock::now() < due) {
        changed_.wait_until(lock, due);
      } else {
        renew(lock);
      }
    }
  } catch (...) {  // no memory: the lease ends after its time
  }
}

// Asks for one lease that is due. The lock is open meanwhile.
void HeldLease::renew(std::unique_lock<std::mutex>& lock) {
  const auto find = [&](const std::string* id) {
    return std::ranges::find_if(parts_, [&](const Part& part) {
      return id != nullptr ? part.id == *id : !part.is_over && part.renew_at <= Clock::now();
    });
  };
  const auto first = find(nullptr);
  if (first == parts_.end()) return;
  const std::string id = first->id;
  lock.unlock();
  const auto asked = Clock::now();
  auto manager = this->manager();
  auto lease = manager.ok() ? manager->get(id, std::nullopt, 0, asked + kAnswerTime)
                            : Result<pool::LeaseState>(manager.status());
  lock.lock();
  const auto part = find(&id);
  if (part != parts_.end()) note(*part, lease, asked);
}

void HeldLease::note(Part& part, const Result<pool::LeaseState>& lease, Clock::time_point asked) {
  if (lease.ok() && lease->state == "held") {
    part.ends_at = asked + lease->left();
    part.renew_at = asked + lease->until_renewal();
    part.is_warned = false;
    lose(part, lease->handles);
    return;
  }
  if (lease.ok() || lease.status().code() == Code::fenced) {
    part.is_over = true;
    lose(part, {});
    if (std::ranges::all_of(parts_, &Part::is_over)) report(OB_LEASE_GONE, nullptr);
    return;
  }
  part.renew_at = Clock::now() + kRenewAgain;
  const milliseconds soon = std::chrono::seconds(terms_.wish.seconds) / kLastPart;
  if (!part.is_warned && Clock::now() + soon > part.ends_at) {
    part.is_warned = true;
    report(OB_LEASE_EXPIRES, nullptr);
  }
}

void HeldLease::lose(Part& part, const std::vector<pool::LeaseHandle>& left) {
  for (LeasedDevice& device : part.devices) {
    const bool is_left =
        std::ranges::find(left, device.name, &pool::LeaseHandle::device) != left.end();
    if (is_left || device.is_taken) continue;
    device.is_taken = true;
    terms_.fence(device.handle);
    report(OB_LEASE_TAKEN, device.handle);
  }
}

}  // namespace ob::api
