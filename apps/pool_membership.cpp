#include "pool_membership.hpp"

#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

namespace ob::apps {
namespace {

// The longest name that a manager takes, and that a certificate has.
constexpr std::size_t kMostNameBytes = 64;

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

std::string name_of(const Options& options, const transport::Security* security) {
  if (security != nullptr) return security->name();
  return (options.name.empty() ? host_name() : options.name).substr(0, kMostNameBytes);
}

// Returns an address that others can use: 0.0.0.0 names no machine, and other programs have other
// working folders.
std::string reachable(const std::string& address) {
  constexpr std::string_view kUnix = "unix:";
  if (address.starts_with(kUnix)) {
    const std::filesystem::path path = address.substr(kUnix.size());
    return std::string(kUnix) + std::filesystem::absolute(path).string();
  }
  for (const std::string_view any : {"0.0.0.0:", "[::]:"}) {
    const std::size_t at = address.find(any);
    if (at == std::string::npos) continue;
    std::string named = address;
    return named.replace(at, any.size() - 1, host_name());
  }
  return address;
}

std::vector<daemon::GatedDevice> gated(const std::string& name,
                                       const std::vector<std::unique_ptr<Device>>& devices) {
  std::vector<daemon::GatedDevice> all;
  for (const auto& device : devices) {
    all.push_back({name + "/" + std::to_string(all.size()), device->info().memory_bytes,
                   device->info().isolated});
  }
  return all;
}

}  // namespace

Result<std::unique_ptr<PoolMembership>> PoolMembership::create(
    const Options& options, const std::vector<std::unique_ptr<Device>>& devices,
    std::shared_ptr<const transport::Security> security) {
  OB_ASSIGN_OR_RETURN(auto managers, pool::parse_managers(options.pool_url));
  const bool secure =
      std::any_of(managers.begin(), managers.end(), [](const auto& one) { return one.secure; });
  if (secure && security == nullptr) {
    return Status(Code::denied, options.pool_url +
                                    " needs a key (it is on the network); give one "
                                    "of `outboard key add daemon --managed` as --key");
  }
  if (security != nullptr && !options.name.empty()) {
    return Status(Code::invalid_argument,
                  "--name is for daemons without a key (this one's key "
                  "names it " +
                      security->name() + "); leave it out");
  }
  std::string name = name_of(options, security.get());
  const daemon::LeaseGate::Config gate{
      .daemon = name,
      .devices = gated(name, devices),
      .grace_ms = static_cast<std::int64_t>(options.manager_grace_seconds * 1e3)};
  return std::unique_ptr<PoolMembership>(
      new PoolMembership(options, std::move(name), gate, std::move(managers), std::move(security)));
}

PoolMembership::PoolMembership(const Options& options, std::string name,
                               const daemon::LeaseGate::Config& gate,
                               std::vector<pool::ManagerAddress> managers,
                               std::shared_ptr<const transport::Security> security)
    : options_(options),
      name_(std::move(name)),
      devices_(gate.devices),
      managers_(std::move(managers)),
      security_(std::move(security)),
      leases_(gate, options.pool_url,
              options.without_lease == "idle" ? daemon::WithoutLease::idle
                                              : daemon::WithoutLease::refuse) {}

std::unique_ptr<daemon::PoolAgent> PoolMembership::join(daemon::Server& server) {
  daemon::PoolNode node;
  node.name = name_;
  node.labels = options_.labels;
  node.addresses = options_.advertise;
  if (node.addresses.empty()) {
    for (const std::string& address : server.addresses()) {
      node.addresses.push_back(reachable(address));
    }
  }
  for (const DeviceInfo& info : server.devices()) {
    const std::string& id = devices_[node.devices.size()].id;
    node.devices.push_back(
        {id, info.backend, info.description, info.memory_bytes, info.gflops_double, 0});
  }
  node.memory_used = [&server](std::size_t device) { return server.memory_used(device); };
  node.self_test = [&server](std::size_t device, const std::function<bool()>& gives_up) {
    return server.self_test(device, gives_up);
  };
  node.self_test_interval =
      std::chrono::milliseconds(static_cast<std::int64_t>(options_.self_test_seconds * 1e3));
  node.restart = [this] {
    restarts_ = true;
    (void)::kill(::getpid(), SIGTERM);  // as an administrator would
  };
  return std::make_unique<daemon::PoolAgent>(leases_, std::move(node), managers_, security_);
}

}  // namespace ob::apps
