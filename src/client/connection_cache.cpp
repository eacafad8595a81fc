#include "client/connection_cache.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "client/inherited_connections.hpp"
#include "client/link_probe.hpp"
#include "transport/security.hpp"

namespace ob::client {
namespace {

// The end of the process waits so long for the manager to take a lease back.
constexpr std::chrono::milliseconds kMostAtEnd{200};

std::int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

// Runs a function when the scope ends, also by an exception.
template <class Function>
class OnExit {
 public:
  explicit OnExit(Function function) : function_(std::move(function)) {}
  ~OnExit() {
    if (!dismissed_) function_();
  }
  OnExit(const OnExit&) = delete;
  OnExit& operator=(const OnExit&) = delete;
  void dismiss() noexcept { dismissed_ = true; }

 private:
  Function function_;
  bool dismissed_ = false;
};

}  // namespace

AcquiredDevice::~AcquiredDevice() {
  if (device_ && cache_ != nullptr) cache_->give_back(*this);
}

ConnectionCache::ConnectionCache(Config config)
    : config_(std::move(config)),
      lease_(config_.lease.is_named() ? std::make_unique<LeaseDirectory>(config_.lease) : nullptr),
      servers_(lease_ ? LeaseDirectory::kMostDevices : config_.servers.size()) {
  idle_.reserve(config_.max_connections);  // give_back() must not fail
  if (lease_) {
    for (Server& server : servers_) server.host = std::make_shared<HostSilence>();
    return;
  }
  std::map<std::string, std::shared_ptr<HostSilence>> hosts;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    std::shared_ptr<HostSilence>& host = hosts[host_of(config_.servers[i])];
    if (host == nullptr) host = std::make_shared<HostSilence>();
    servers_[i].host = host;
  }
}

ConnectionCache::~ConnectionCache() {
  for (const AcquiredDevice& acquired : idle_) forget(acquired.device_->connection().stream());
}

std::optional<std::size_t> ConnectionCache::preferred() const noexcept {
  const std::size_t count = server_count();
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_out(i)) return i;
  }
  return std::nullopt;
}

Link ConnectionCache::link(std::size_t server) const {
  const std::lock_guard lock(mutex_);
  return servers_[server].link;
}

DeviceInfo ConnectionCache::device_info(std::size_t server) const {
  const std::lock_guard lock(mutex_);
  return servers_[server].info;
}

void ConnectionCache::set_aside(std::size_t server) noexcept {
  constexpr int kMaxDoublings = 6;
  // Whoever waits in the queue of a pool loses the place by longer pauses.
  const bool waits = lease_ && lease_->is_waiting();
  const std::lock_guard lock(mutex_);
  Server& failed = servers_[server];
  const int doublings = waits ? 0 : std::min(failed.failures, kMaxDoublings);
  failed.failures = waits ? 1 : failed.failures + 1;
  const std::int64_t pause_ms = std::int64_t{config_.retry_after_ms} << doublings;
  failed.down_until_ms = now_ms() + pause_ms;
}

void ConnectionCache::note_failure(std::size_t server, Code code) noexcept {
  if (code != Code::declined) return set_aside(server);
  // There is no lease now. The thread that connects may ask for one.
  const std::lock_guard lock(mutex_);
  servers_[server].devices = 0;
}

// Counts a new connection to `server`; if there are too many, an idle one to another server is
// closed.
bool ConnectionCache::make_room(std::size_t server) noexcept {
  AcquiredDevice unwanted;  // closed without the lock
  const std::lock_guard lock(mutex_);
  if (open_ < config_.max_connections) {
    ++open_;
    return true;
  }
  const auto at = std::find_if(idle_.begin(), idle_.end(),
                               [&](const AcquiredDevice& idle) { return idle.server_ != server; });
  if (at == idle_.end()) return false;
  unwanted = std::move(*at);
  idle_.erase(at);
  forget(unwanted.device_->connection().stream());
  return true;
}

// The most recently used idle connection to `server` whose descriptor is still ours.
std::optional<AcquiredDevice> ConnectionCache::take_idle(std::size_t server, std::uint32_t device) {
  for (;;) {
    AcquiredDevice acquired;  // a broken one is closed without the lock
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(idle_.rbegin(), idle_.rend(), [&](const AcquiredDevice& idle) {
      return idle.server_ == server && (device == kAnyDevice || idle.device_index() == device);
    });
    if (at == idle_.rend()) return std::nullopt;
    acquired = std::move(*at);
    idle_.erase(std::next(at).base());
    const transport::Stream& stream = acquired.device_->connection().stream();
    if (stream.intact()) {
      acquired.cache_ = this;
      acquired.counts_against_server_ = false;
      return acquired;
    }
    forget(stream);
    acquired.device_->abandon();
    --open_;
  }
}

std::optional<AcquiredDevice> ConnectionCache::borrow_idle(std::size_t server) {
  std::optional<AcquiredDevice> idle = take_idle(server);
  if (!idle) return idle;
  idle->is_borrowed_ = true;
  const std::lock_guard lock(mutex_);
  ++servers_[server].borrowed;
  return idle;
}

void ConnectionCache::wait_for_borrowed(std::size_t server) {
  std::unique_lock lock(mutex_);
  returned_.wait_for(lock, kMostBorrowed, [&] { return servers_[server].borrowed == 0; });
}

Result<AcquiredDevice> ConnectionCache::acquire(Asking asking) {
  if (server_count() == 0) {
    return Status(Code::unavailable, "no server named (set OUTBOARD_SERVER=HOST:PORT)");
  }
  Status first_failure;
  for (std::size_t i = 0; i < server_count(); ++i) {
    if (is_out(i)) continue;
    bool full = false;
    auto acquired = idle_or_new(i, kAnyDevice, asking, full);
    if (acquired.ok() || full) return acquired;
    if (first_failure.ok()) first_failure = acquired.status();
  }
  if (first_failure.ok()) {
    first_failure =
        Status(Code::unavailable, "no server answered a moment ago (tried again shortly)");
  }
  return first_failure;
}

bool ConnectionCache::is_set_aside(std::size_t server) const noexcept {
  const std::lock_guard lock(mutex_);
  return servers_[server].down_until_ms > now_ms();
}

// True if no connection to the server should be tried now.
bool ConnectionCache::is_out(std::size_t server) const noexcept {
  return is_set_aside(server) || (lease_ && lease_->is_retired(server));
}

void ConnectionCache::renew_lease() {
  const auto security = key();
  if (lease_ && security.ok()) (void)lease_->renew(*security);
}

void ConnectionCache::give_lease_back() {
  if (!lease_ || !config_.lease.is_own()) return;
  const auto security = key();
  if (security.ok()) lease_->give_back(*security, transport::Clock::now() + kMostAtEnd);
}

bool ConnectionCache::is_reached(std::size_t server) const noexcept {
  const std::lock_guard lock(mutex_);
  return servers_[server].devices > 0 && servers_[server].failures == 0;
}

std::uint32_t ConnectionCache::devices_of(std::size_t server) const noexcept {
  const std::lock_guard lock(mutex_);
  return servers_[server].devices;
}

// Sets aside a server that cannot be connected to. `full` reports that there are too many
// connections.
Result<AcquiredDevice> ConnectionCache::idle_or_new(std::size_t server, std::uint32_t device,
                                                    Asking asking, bool& full) {
  if (auto idle = take_idle(server, device)) return std::move(*idle);
  wait_for_borrowed(server);
  if (auto idle = take_idle(server, device)) return std::move(*idle);
  full = !make_room(server);
  if (full) {
    return Status(Code::unavailable,
                  "all " + std::to_string(config_.max_connections) + " connections are busy");
  }
  OnExit no_connection([this] {  // connect() throws without memory
    const std::lock_guard lock(mutex_);
    --open_;
  });
  auto fresh = connect(server, device, asking);
  if (fresh.ok()) {
    no_connection.dismiss();
  } else {
    note_failure(server, fresh.status().code());
  }
  return fresh;
}

std::vector<AcquiredDevice> ConnectionCache::acquire_others(const AcquiredDevice& first,
                                                            std::size_t count) {
  std::vector<AcquiredDevice> found;
  const std::size_t servers = server_count();
  std::vector<std::uint32_t> next(servers, 0);  // the device to try on each server
  std::size_t server = first.server();
  for (std::size_t idle_turns = 0; found.size() < count && idle_turns < servers; ++idle_turns) {
    server = (server + 1) % servers;
    if (is_out(server)) continue;
    const bool known = devices_of(server) > 0;
    std::uint32_t& device = next[server];
    if (server == first.server() && device == first.device_index()) ++device;
    if (known && device >= devices_of(server)) continue;
    bool full = false;
    auto acquired = idle_or_new(server, device, config_.asking, full);
    if (full) break;
    ++device;
    if (!acquired.ok()) continue;
    found.push_back(std::move(acquired).value());
    idle_turns = SIZE_MAX;  // every server gets another turn
  }
  return found;
}

// The key is loaded when it is first needed. Without a usable key there is no connection.
Result<std::shared_ptr<const transport::Security>> ConnectionCache::key() {
  if (config_.key_folder.empty()) return std::shared_ptr<const transport::Security>();
  std::call_once(key_loaded_, [&] {
    key_ = transport::load_key(config_.key_folder, transport::Side::client, config_.plain);
  });
  return key_;
}

Result<std::unique_ptr<RemoteDevice>> ConnectionCache::open(const std::string& address,
                                                            ConnectionConfig config) {
  if (!address.starts_with("unix:")) {
    OB_ASSIGN_OR_RETURN(config.security, key());
  }
  return RemoteDevice::open(address, config);
}

// A daemon of the lease may have several addresses, of which the best comes first.
Result<std::unique_ptr<RemoteDevice>> ConnectionCache::open_leased(std::size_t server,
                                                                   ConnectionConfig config,
                                                                   Asking asking) {
  OB_ASSIGN_OR_RETURN(const auto security, key());
  OB_ASSIGN_OR_RETURN(LeaseTicket ticket, lease_->ticket(server, security, asking));
  config.identity = std::move(ticket.token);
  config.device = kAnyDevice;  // the token names it
  Status failure;
  for (const std::string& address : ticket.addresses) {
    auto device = open(address, config);
    if (device.ok()) return device;
    failure = device.status();
    if (failure.code() == Code::fenced) break;
  }
  const Code code = failure.code();
  if (code == Code::fenced) lease_->drop(server, config.identity);
  if (code == Code::unavailable || code == Code::deadline_exceeded ||
      code == Code::connection_lost) {
    lease_->note_unreachable(server);
  }
  return failure;
}

Result<AcquiredDevice> ConnectionCache::connect(std::size_t server, std::uint32_t device_index,
                                                Asking asking) {
  ConnectionConfig config = config_.connection;
  config.device = device_index;
  config.host = servers_[server].host;
  OB_ASSIGN_OR_RETURN(auto device, lease_ ? open_leased(server, std::move(config), asking)
                                          : open(config_.servers[server], std::move(config)));
  AcquiredDevice acquired;  // cache_ stays unset until it is complete: a failure destroys it
  acquired.server_ = server;
  acquired.device_ = std::move(device);
  OB_ASSIGN_OR_RETURN(acquired.queue_, acquired.device_->create_queue());
  if (config_.measure_links) OB_RETURN_IF_ERROR(measure(acquired));
  remember(acquired.device_->connection().stream());
  const std::lock_guard lock(mutex_);
  servers_[server].failures = 0;
  servers_[server].devices = acquired.device_->connection().welcome().devices;
  if (servers_[server].info.backend.empty()) servers_[server].info = acquired.device_->info();
  acquired.connection_id_ = next_connection_++;
  acquired.cache_ = this;
  return acquired;
}

Status ConnectionCache::measure(AcquiredDevice& acquired) {
  return measure_unless(acquired, [](const Server& server) { return server.known; });
}

Status ConnectionCache::measure_again(AcquiredDevice& acquired) {
  return measure_unless(acquired, [](const Server& server) { return !server.known; });
}

Status ConnectionCache::measure_unless(AcquiredDevice& acquired, bool (*is_done)(const Server&)) {
  {
    const std::lock_guard lock(mutex_);
    Server& server = servers_[acquired.server_];
    if (is_done(server) || server.measuring) return {};
    server.measuring = true;
  }
  const OnExit measured([&] {  // measure_link() throws without memory
    const std::lock_guard lock(mutex_);
    servers_[acquired.server_].measuring = false;
  });
  auto link = measure_link(*acquired.device_, acquired.queue_, config_.how_measured);
  if (!link.ok()) return link.status();
  if (lease_) lease_->note_link(acquired.server_, *link);
  const std::lock_guard lock(mutex_);
  Server& server = servers_[acquired.server_];
  if (!server.known) server.link = *link;
  if (server.link.known() && link->known()) server.link = faster_of(server.link, *link);
  server.known = true;
  return {};
}

// A server that broke one connection has broken its idle connections, too.
void ConnectionCache::drop_idle(std::size_t server) noexcept {
  for (;;) {
    AcquiredDevice lost;  // closed without the lock
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(idle_.begin(), idle_.end(), [&](const AcquiredDevice& idle) {
      return idle.server_ == server;
    });
    if (at == idle_.end()) return;
    lost = std::move(*at);
    idle_.erase(at);
    --open_;
    forget(lost.device_->connection().stream());
    lost.device_->abandon();  // no goodbye: the server is gone
  }
}

void ConnectionCache::report_failure(AcquiredDevice& broken) noexcept {
  broken.is_reported_ = true;
  if (broken.counts_against_server()) set_aside(broken.server_);
  drop_idle(broken.server_);
}

// @pre the caller holds the mutex
void ConnectionCache::note_return(AcquiredDevice& acquired) noexcept {
  if (!std::exchange(acquired.is_borrowed_, false)) return;
  --servers_[acquired.server_].borrowed;
  returned_.notify_all();
}

void ConnectionCache::give_back(AcquiredDevice& acquired) noexcept {
  if (acquired.device_->broken()) {
    if (!acquired.is_reported_) report_failure(acquired);
    forget(acquired.device_->connection().stream());
    acquired.device_.reset();
    const std::lock_guard lock(mutex_);
    --open_;
    note_return(acquired);
    return;
  }
  const std::lock_guard lock(mutex_);
  note_return(acquired);
  AcquiredDevice kept = std::move(acquired);
  kept.cache_ = nullptr;  // idle devices are destroyed with the cache
  idle_.push_back(std::move(kept));
}

}  // namespace ob::client
