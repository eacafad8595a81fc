// outboardd offers this machine's devices to Outboard clients. Users usually start it with
// `outboard serve`.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "backends.hpp"
#include "command_line.hpp"
#include "daemon/metrics/exposition.hpp"
#include "daemon/metrics/metrics_service.hpp"
#include "daemon/server/server.hpp"
#include "log.hpp"
#include "pool_membership.hpp"
#include "stop_signal.hpp"
#include "transport/address.hpp"
#include "transport/security.hpp"

namespace {

namespace log = ob::apps::log;

// The time to finish plans and to free memory after the last client has gone.
constexpr double kEndingSeconds = 5;

int fail(const ob::Status& status) {
  std::fprintf(stderr, "outboardd: %s\n", status.message().c_str());
  return 1;
}

// Each connection, and each memory file with buffers of clients, takes a descriptor.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Returns the isolation that `auto` means: only the daemon's own user can use a Unix socket.
std::string isolation(const ob::apps::Options& options) {
  if (options.isolation != "auto") return options.isolation;
  const bool own_user =
      std::all_of(options.listen.begin(), options.listen.end(), [](const std::string& address) {
        return address.starts_with("unix:") || address.starts_with("fd:");
      });
  return own_user ? "none" : "user";
}

ob::apps::DeviceOptions device_options(const ob::apps::Options& options) {
  ob::apps::DeviceOptions device = options.device;
  device.isolation = isolation(options);
  device.executor_bytes = options.session_host_memory_bytes;
  device.kernels = options.kernels != "off";
  const std::uint64_t of_user = options.user_host_memory_bytes;
  if (of_user != 0 && (device.executor_bytes == 0 || of_user < device.executor_bytes)) {
    device.executor_bytes = of_user;
  }
  return device;
}

ob::daemon::KernelPolicy kernel_policy(const ob::apps::Options& options,
                                       const std::string& backend) {
  const bool in_process = backend == "cuda" || backend == "opencl";
  if (in_process && options.device.kernels_in_process) {
    log::warn(
        "kernels of clients run in this process (--kernels-in-process): a bad one can end it");
  }
  const double longest_s = in_process ? 0 : options.device.longest_kernel_s;  // cannot be ended
  return {ob::daemon::kernel_rights_named(options.kernels),
          ob::daemon::kernel_rights_named(options.kernels_without_key),
          static_cast<std::uint32_t>(longest_s * 1e3)};
}

ob::Status kernels_need_no_key() {
  return {ob::Code::invalid_argument,
          "--kernels-without-key is for daemons without a key (with one, keys say who may run "
          "kernels) leave it out"};
}

// Without encryption and authentication only this machine may connect.
ob::Status may_listen(const std::string& address, bool has_key) {
  const auto inherited = ob::transport::inherited_socket(address);
  if (!inherited.ok()) return inherited.status();
  if (!*inherited) {
    OB_RETURN_IF_ERROR(ob::transport::parse_address(address).status());
  }
  if (has_key || ob::transport::stays_on_this_machine(address)) return {};
  return {ob::Code::denied,
          "will not listen on " + address +
              " (without a key anybody could use it) make one with `outboard key init` and give it "
              "as --key, or use a loopback or unix: address"};
}

// Serves the metrics if they are wanted; nullptr: they are not.
ob::Result<std::unique_ptr<ob::daemon::MetricsService>> serve_metrics(
    const ob::apps::Options& options, ob::daemon::Server& server) {
  if (options.metrics.empty()) {
    if (!options.metrics_open) return std::unique_ptr<ob::daemon::MetricsService>();
    return ob::Status(ob::Code::invalid_argument,
                      "--metrics-open needs --metrics (no metrics are served) add --metrics "
                      "HOST:PORT");
  }
  if (!options.metrics_open && !ob::transport::stays_on_this_machine(options.metrics)) {
    return ob::Status(ob::Code::denied,
                      "will not serve metrics on " + options.metrics +
                          " (other machines could read them, unencrypted and without a key) use "
                          "127.0.0.1:PORT, or add --metrics-open");
  }
  return ob::daemon::MetricsService::create(
      options.metrics, [&server] { return ob::daemon::exposition(server.facts()); });
}

// A program that reads the pool's secret can make members. This one takes data from clients.
void warn_of_pool_secret(const std::string& folder) {
  if (access((folder + "/pool.key").c_str(), F_OK) != 0) return;
  log::warn(folder +
            " holds pool.key, which makes new members, and no daemon needs it. Give this daemon a "
            "folder of its own: outboard key export daemon --pool " +
            folder + " --to FOLDER");
}

// Returns the daemon's key; nullptr if it has none.
ob::Result<std::shared_ptr<const ob::transport::Security>> load_key(
    const ob::apps::Options& options) {
  if (options.key_folder.empty()) {
    if (!options.plain) return std::shared_ptr<const ob::transport::Security>();
    return ob::Status(ob::Code::invalid_argument,
                      "--plain needs --key (without one nobody proves anything, and nothing is "
                      "encrypted)");
  }
  if (options.kernels_without_key != "off") return kernels_need_no_key();
  auto key =
      ob::transport::load_key(options.key_folder, ob::transport::Side::daemon, options.plain);
  if (key.ok()) warn_of_pool_secret(options.key_folder);
  return key;
}

// Returns the signal that ends the process.
int wait_for_end(ob::apps::StopSignal& stop, ob::daemon::Server& server) {
  int signal_number = stop.wait();
  for (; signal_number == SIGHUP; signal_number = stop.wait()) server.reload_revocations();
  return signal_number;
}

int serve(const ob::apps::Options& options) {
  ob::apps::StopSignal stop(!options.key_folder.empty());
  signal(SIGPIPE, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);  // if it is ignored, the ends of executors are not reported
  raise_descriptor_limit();
  if (options.exit_with_parent) {
    const pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) return 0;  // the parent ended meanwhile
  }
  auto key = load_key(options);
  if (!key.ok()) return fail(key.status());
  const std::shared_ptr<const ob::transport::Security> security = std::move(*key);
  for (const std::string& address : options.listen) {
    const ob::Status allowed = may_listen(address, security != nullptr);
    if (!allowed.ok()) return fail(allowed);
  }
  auto made = ob::apps::make_devices(device_options(options));
  if (!made.ok()) return fail(made.status());
  std::vector<std::unique_ptr<ob::Device>> devices = std::move(*made);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const ob::DeviceInfo& info = devices[i]->info();
    log::info("device " + std::to_string(i) + ": " + info.backend + " (" + info.description + ")");
  }
  std::unique_ptr<ob::apps::PoolMembership> pool;
  if (!options.pool_url.empty()) {
    auto member = ob::apps::PoolMembership::create(options, devices, security);
    if (!member.ok()) return fail(member.status());
    pool = std::move(*member);
  }
  const ob::daemon::KernelPolicy kernels = kernel_policy(options, devices.front()->info().backend);
  stop.serving(options.drain_seconds + kEndingSeconds);
  auto server = ob::daemon::Server::create(
      {.listen = options.listen,
       .max_connections = options.max_connections,
       .handshakes = options.handshakes,
       .security = security,
       .session = {.memory_bytes = options.session_memory_bytes,
                   .host_memory_bytes = options.session_host_memory_bytes,
                   .user_memory_bytes = options.user_memory_bytes,
                   .user_host_memory_bytes = options.user_host_memory_bytes},
       .may_connect = !options.no_peers,
       .longest_idle = std::chrono::seconds(options.idle_seconds),
       .striping = {.max_streams = options.max_streams, .block_bytes = options.stripe_bytes},
       .kernels = kernels,
       .leases = pool ? &pool->leases() : nullptr},
      std::move(devices));
  if (!server.ok()) return fail(server.status());
  auto metrics = serve_metrics(options, **server);
  if (!metrics.ok()) return fail(metrics.status());
  for (const std::string& address : (*server)->addresses())
    std::printf("listening on %s\n", address.c_str());
  std::fflush(stdout);
  if (*metrics != nullptr) log::info("metrics at " + (*metrics)->url());
  auto agent = pool ? pool->join(**server) : nullptr;
  const int signal_number = wait_for_end(stop, **server);
  const int ended = pool && pool->restarts() ? ob::apps::PoolMembership::kRestarts : 0;
  const int aborted = ended != 0 ? ended : ob::apps::StopSignal::kAborted;
  stop.abort_with(aborted);
  log::info("draining (signal " + std::to_string(signal_number) + ")");
  const ob::daemon::Drained drained = (*server)->drain(options.drain_seconds);
  agent.reset();
  metrics->reset();
  // A device cannot be stopped in the middle of a command. Only the end of the process stops it.
  if (drained == ob::daemon::Drained::aborted) _exit(aborted);
  if (drained == ob::daemon::Drained::left) _exit(ended);
  server->reset();
  log::info("stopped");
  return ended;
}

}  // namespace

int main(int argc, char** argv) try {
  ob::apps::Options options;
  if (const auto status = ob::apps::read_command_line(argc, argv, options)) return *status;
  log::start(options.log_level);
  return serve(options);
} catch (const std::exception& error) {  // for example out of memory at start
  return fail({ob::Code::internal, error.what()});
}
