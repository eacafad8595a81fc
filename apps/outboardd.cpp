// outboardd: offers this machine's devices to Outboard clients. `outboard serve` is its usual
// front.

#include <signal.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends.hpp"
#include "daemon/server/server.hpp"
#include "stop_signal.hpp"
#include "transport/address.hpp"
#include "transport/security.hpp"

namespace {

// For what follows when clients are gone: plans in the making, memory to give back.
constexpr double kEndingSeconds = 5;

struct Options {
  std::vector<std::string> listen{"127.0.0.1:7770"};
  ob::apps::DeviceOptions device;
  unsigned max_streams = ob::transport::StripedStream::kMaxStreams;
  std::uint32_t stripe_bytes = ob::daemon::StripingConfig().block_bytes;
  std::string key_folder;
  bool plain = false;
  bool no_peers = false;
  std::size_t max_connections = ob::daemon::ServerConfig().max_connections;
  std::uint64_t session_memory_bytes = UINT64_MAX;
  std::uint64_t session_host_memory_bytes = 0;
  std::uint64_t idle_seconds = 24 * 3600;
  double drain_seconds = 30;
  std::string log_level = "info";
  bool exit_with_parent = false;
};

// What clients may have.
void declare_limits(CLI::App& app, Options& options) {
  app.add_option("--max-connections", options.max_connections, "further clients are turned away")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option("--session-memory", options.session_memory_bytes,
                 "device memory that one client may have, e.g. 2GiB (default: all)")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--session-host-memory", options.session_host_memory_bytes,
                 "memory of this machine that one client may take beside the device's: plans, "
                 "queues, digests (default: as much as a device has, but at least 1GiB)")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--longest-command", options.device.longest_command_s,
                 "seconds: a call or transform that is expected to take longer is refused while "
                 "others wait for their turn; 0: none is")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  app.add_option("--idle-time", options.idle_seconds,
                 "seconds after which a connection that nobody uses is closed")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app.add_option("--drain-time", options.drain_seconds,
                 "seconds that calls in flight may take after SIGTERM; then clients are cut off, "
                 "and what a device does not end is given up")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
}

void declare(CLI::App& app, Options& options) {
  app.add_option(
         "--listen", options.listen,
         "address to listen on: HOST:PORT (port 0 picks a free one), unix:PATH for clients on "
         "this machine, or ucx:HOST:PORT to carry data through UCX; may be repeated")
      ->capture_default_str();
  app.add_option("--backend", options.device.backend,
                 "what computes; auto: cuda or opencl if there is an accelerator, else cpu")
      ->check(CLI::IsMember({"auto", "cpu", "cuda", "null", "opencl"}))
      ->capture_default_str();
  app.add_option(
         "--devices", options.device.devices,
         "devices to offer; cpu devices split the cores, cuda and opencl ones are distributed "
         "out to the accelerators")
      ->check(CLI::Range(1u, 64u))
      ->capture_default_str();
  app.add_option("--device-memory", options.device.memory_bytes,
                 "cap of each device's memory, e.g. 512M or 4GiB (default: an equal part of this "
                 "machine's)")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--device-rate", options.device.device_rate,
                 "null backend: rate at which it pretends to compute, e.g. 500GF");
  app.add_option("--plan-time", options.device.plan_seconds,
                 "null backend: time it pretends to need for planning a transform, e.g. 50ms")
      ->transform(CLI::AsNumberWithUnit(
          std::map<std::string, double>{{"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}},
          CLI::AsNumberWithUnit::UNIT_REQUIRED));
  app.add_option("--key", options.key_folder,
                 "folder with this daemon's key (outboard key): clients must have one of the same "
                 "pool, and any address may be listened on");
  app.add_flag("--plain", options.plain,
               "with --key, for networks nobody else can listen or write to: data travel "
               "unencrypted to clients that agree");
  app.add_flag("--no-peers", options.no_peers,
               "never connect to other daemons: what devices of several share passes through the "
               "client");
  declare_limits(app, options);
  app.add_option("--max-streams", options.max_streams,
                 "TCP streams that a client may stripe a connection over")
      ->check(CLI::Range(1u, options.max_streams))
      ->capture_default_str();
  app.add_option("--stripe", options.stripe_bytes,
                 "bytes that travel on one such stream before the next one's turn, e.g. 256KiB")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(1u, 1u << 30))
      ->capture_default_str();
  app.add_option(
      "--fail-allocations", options.device.fail_allocations,
      "for tests: every so-many-th allocation of device memory fails (cpu, cuda, opencl)");
  app.add_option("--corrupt", options.device.corrupt,
                 "for tests: every so-many-th result has a wrong element (cpu)");
  app.add_option("--log-level", options.log_level, "how much to say on stderr")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  app.add_flag("--exit-with-parent", options.exit_with_parent,
               "drain and stop when the starting process ends");
  app.footer(
      "Examples:\n"
      "  outboardd                                      serve this machine's cores on loopback\n"
      "  outboardd --listen 127.0.0.1:0 --devices 2     two devices, any free port\n"
      "  outboardd --listen unix:/run/user/1000/ob.sock shared memory for programs on this "
      "machine\n"
      "\nThe first lines on stdout say 'listening on ADDRESS'. SIGTERM drains, then stops.");
}

int fail(const ob::Status& status) {
  std::fprintf(stderr, "outboardd: %s\n", status.message().c_str());
  return 1;
}

// Each connection and each buffer of a client takes a descriptor.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int serve(const Options& options) {
  ob::apps::StopSignal stop;
  signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit();
  if (options.exit_with_parent) {
    const pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) return 0;  // it ended meanwhile
  }
  std::shared_ptr<const ob::transport::Security> security;
  if (!options.key_folder.empty()) {
    auto key =
        ob::transport::load_key(options.key_folder, ob::transport::Side::daemon, options.plain);
    if (!key.ok()) return fail(key.status());
    security = std::move(*key);
  } else if (options.plain) {
    return fail({ob::Code::invalid_argument,
                 "--plain needs --key (without one nobody proves "
                 "anything, and nothing is encrypted)"});
  }
  // Without encryption and authentication nobody but this machine may connect.
  for (const std::string& address : options.listen) {
    if (!security && !ob::transport::stays_on_this_machine(address)) {
      return fail({ob::Code::denied,
                   "will not listen on " + address +
                       " (without a key anybody could use it) make one with `outboard key "
                       "init` and give it as --key, or use a loopback or unix: address"});
    }
  }
  auto made = ob::apps::make_devices(options.device);
  if (!made.ok()) return fail(made.status());
  std::vector<std::unique_ptr<ob::Device>> devices = std::move(*made);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    spdlog::info("device {}: {} ({})", i, devices[i]->info().backend,
                 devices[i]->info().description);
  }
  stop.serving(options.drain_seconds + kEndingSeconds);
  auto server = ob::daemon::Server::create(
      {.listen = options.listen,
       .max_connections = options.max_connections,
       .security = security,
       .session = {.memory_bytes = options.session_memory_bytes,
                   .host_memory_bytes = options.session_host_memory_bytes},
       .may_connect = !options.no_peers,
       .longest_idle = std::chrono::seconds(options.idle_seconds),
       .striping = {.max_streams = options.max_streams, .block_bytes = options.stripe_bytes}},
      std::move(devices));
  if (!server.ok()) return fail(server.status());
  for (const std::string& address : (*server)->addresses())
    std::printf("listening on %s\n", address.c_str());
  std::fflush(stdout);
  spdlog::info("draining (signal {})", stop.wait());
  const ob::daemon::Drained drained = (*server)->drain(options.drain_seconds);
  // What a device is at cannot be taken from it, but for ending the process.
  if (drained == ob::daemon::Drained::aborted) _exit(ob::apps::StopSignal::kGivenUp);
  if (drained == ob::daemon::Drained::left) _exit(0);
  server->reset();
  spdlog::info("stopped");
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Offers this machine's devices to Outboard clients.", "outboardd"};
  app.set_version_flag("--version", OUTBOARD_VERSION);
  Options options;
  declare(app, options);
  CLI11_PARSE(app, argc, argv);
  spdlog::set_default_logger(spdlog::stderr_color_mt("outboardd"));
  spdlog::set_level(spdlog::level::from_str(options.log_level));
  return serve(options);
} catch (const std::exception& error) {  // out of memory at start, say
  return fail({ob::Code::internal, error.what()});
}
