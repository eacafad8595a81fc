#include "client/device_pool.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "client/link_probe.hpp"

namespace ob::client {
namespace {

std::int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

// Descriptors of open connections, for close_inherited_connections(): fixed memory, no locks.
constexpr std::size_t kMaxDescriptors = 256;
constinit std::array<std::atomic<int>, kMaxDescriptors> g_descriptors{};  // descriptor + 1; 0 free

void remember(int descriptor) noexcept {
  for (auto& slot : g_descriptors) {
    int expected = 0;
    if (slot.compare_exchange_strong(expected, descriptor + 1)) return;
  }
}

void forget(int descriptor) noexcept {
  for (auto& slot : g_descriptors) {
    int expected = descriptor + 1;
    if (slot.compare_exchange_strong(expected, 0)) return;
  }
}

}  // namespace

void close_inherited_connections() noexcept {
  for (auto& slot : g_descriptors) {
    const int descriptor = slot.exchange(0) - 1;
    if (descriptor >= 0) ::close(descriptor);
  }
}

Lease::~Lease() {
  if (device_ && pool_ != nullptr) pool_->give_back(*this);
}

DevicePool::DevicePool(Config config)
    : config_(std::move(config)), servers_(config_.servers.size()) {
  idle_.reserve(config_.max_connections);  // give_back() must not fail
}

DevicePool::~DevicePool() {
  for (const Lease& lease : idle_) forget(lease.device_->connection().stream().descriptor());
}

bool DevicePool::usable() const noexcept {
  const std::lock_guard lock(mutex_);
  const std::int64_t now = now_ms();
  for (const Server& server : servers_) {
    if (server.down_until_ms <= now) return true;
  }
  return false;
}

Link DevicePool::link(std::size_t server) const {
  const std::lock_guard lock(mutex_);
  return servers_[server].link;
}

DeviceInfo DevicePool::device_info(std::size_t server) const {
  const std::lock_guard lock(mutex_);
  return servers_[server].info;
}

void DevicePool::set_aside(std::size_t server) noexcept {
  const std::lock_guard lock(mutex_);
  servers_[server].down_until_ms = now_ms() + config_.retry_after_ms;
}

Result<Lease> DevicePool::lease() {
  if (config_.servers.empty()) {
    return Status(Code::unavailable, "no server named (set OUTBOARD_SERVER=HOST:PORT)");
  }
  Status first_failure;
  for (std::size_t i = 0; i < config_.servers.size(); ++i) {
    {
      const std::lock_guard lock(mutex_);
      if (servers_[i].down_until_ms > now_ms()) continue;
      for (auto at = idle_.rbegin(); at != idle_.rend(); ++at) {
        if (at->server_ != i) continue;
        Lease lease = std::move(*at);
        idle_.erase(std::next(at).base());
        lease.pool_ = this;
        return lease;
      }
      if (open_ >= config_.max_connections) {
        return Status(Code::unavailable, "all " + std::to_string(open_) + " connections are busy");
      }
      ++open_;
    }
    auto fresh = connect(i);
    if (fresh.ok()) return fresh;
    {
      const std::lock_guard lock(mutex_);
      --open_;
    }
    set_aside(i);
    if (first_failure.ok()) first_failure = fresh.status();
  }
  if (first_failure.ok()) {
    first_failure =
        Status(Code::unavailable, "no server answered a moment ago (tried again shortly)");
  }
  return first_failure;
}

Result<Lease> DevicePool::connect(std::size_t server) {
  OB_ASSIGN_OR_RETURN(auto device, RemoteDevice::open(config_.servers[server], config_.patience));
  Lease lease;  // pool_ stays unset until all is well, so that a failure simply destroys it
  lease.server_ = server;
  lease.device_ = std::move(device);
  OB_ASSIGN_OR_RETURN(lease.queue_, lease.device_->create_queue());
  bool known = false;
  {
    const std::lock_guard lock(mutex_);
    known = servers_[server].known;
  }
  Link link;
  if (!known) {
    OB_ASSIGN_OR_RETURN(link, measure_link(*lease.device_, lease.queue_));
  }
  remember(lease.device_->connection().stream().descriptor());
  const std::lock_guard lock(mutex_);
  if (!known) {
    servers_[server].known = true;
    servers_[server].link = link;
    servers_[server].info = lease.device_->info();
  }
  lease.connection_id_ = next_connection_++;
  lease.pool_ = this;
  return lease;
}

// A server that broke one connection has broken the idle ones, too.
void DevicePool::drop_idle(std::size_t server) noexcept {
  for (;;) {
    Lease lost;  // closed without the lock
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(idle_.begin(), idle_.end(),
                                 [&](const Lease& l) { return l.server_ == server; });
    if (at == idle_.end()) return;
    lost = std::move(*at);
    idle_.erase(at);
    --open_;
    forget(lost.device_->connection().stream().descriptor());
    lost.device_->abandon();  // nobody there to say goodbye to
  }
}

void DevicePool::give_back(Lease& lease) noexcept {
  if (lease.device_->broken()) {
    set_aside(lease.server_);
    forget(lease.device_->connection().stream().descriptor());
    lease.device_.reset();
    drop_idle(lease.server_);
    const std::lock_guard lock(mutex_);
    --open_;
    return;
  }
  const std::lock_guard lock(mutex_);
  Lease kept = std::move(lease);
  kept.pool_ = nullptr;  // idle leases die quietly with the pool
  idle_.push_back(std::move(kept));
}

}  // namespace ob::client
