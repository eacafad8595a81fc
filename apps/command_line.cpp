#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <map>

namespace ob::apps {
namespace {

// Declares the options that limit the resources of clients.
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
                 "and calls that a device does not end are aborted")
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

}  // namespace

std::optional<int> read_command_line(int argc, char** argv, Options& options) {
  CLI::App app{"Offers this machine's devices to Outboard clients.", "outboardd"};
  app.set_version_flag("--version", OUTBOARD_VERSION);
  declare(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& end) {
    return app.exit(end);
  }
  return std::nullopt;
}

}  // namespace ob::apps
