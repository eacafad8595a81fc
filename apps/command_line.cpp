#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <map>
#include <sstream>

#include "base/decimal.hpp"

namespace ob::apps {
namespace {

constexpr int kUsageError = 2;  // the status of all commands of Outboard for wrong options

// Checks the number of a size. CLI11 2.1 takes -1 and 2^64 for other numbers.
std::string check_size(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && number > 0) return {};
  return "'" + text + "' is not a size (it must be above zero and below 2^64); write 512M or 4GiB";
}

// Checks a number of seconds. The ranges of CLI11 contain nan.
std::string check_seconds(const std::string& text, double most) {
  const auto number = from_decimal(text);
  if (number && *number >= 0 && *number <= most) return {};
  std::ostringstream message;
  message << "'" << text << "' is not a number of seconds from 0 to " << most;
  return message.str();
}

CLI::Validator seconds_up_to(double most) {
  return {[most](const std::string& text) { return check_seconds(text, most); }, "SECONDS"};
}

CLI::Option* add_size(CLI::App& app, const char* name, auto& bytes, const char* help) {
  return app.add_option(name, bytes, help)
      ->transform(CLI::AsSizeValue(false))
      ->transform(CLI::Validator([](const std::string& text) { return check_size(text); }, ""));
}

// Declares the options that limit the resources of clients.
void declare_limits(CLI::App& app, Options& options) {
  app.add_option("--max-connections", options.max_connections,
                 "Refuse further clients while this many connections are open.")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option("--max-handshakes", options.handshakes.total,
                 "Allow this many connections that have begun to say who they are. One more closes "
                 "the oldest of the address that has the most.")
      ->check(CLI::Range(2, 65536))
      ->capture_default_str();
  add_size(app, "--session-memory", options.session_memory_bytes,
           "Give one client at most this much memory of a device, e.g. 2GiB. The default is all.");
  add_size(app, "--session-host-memory", options.session_host_memory_bytes,
           "Give one client at most this much memory of this machine beside the device's, for "
           "plans, queues and digests. The default is as much as a device has, but at least 1GiB.");
  add_size(app, "--user-memory", options.user_memory_bytes,
           "Give all clients of one user together at most this much memory of a device. The "
           "default is all, and beside other users at most three times of what is left.");
  add_size(app, "--user-host-memory", options.user_host_memory_bytes,
           "Give all clients of one user together at most this much memory of this machine beside "
           "the device's. The default is three quarters of it, but at least the memory of one "
           "client for each device.");
  app.add_option("--longest-command", options.device.longest_command_s,
                 "While others wait for their turn, refuse a call or transform that is expected to "
                 "take more seconds. Stop one that does take more, if it runs in a process of its "
                 "own (--isolation). 0: no limit.")
      ->check(seconds_up_to(1e9))
      ->capture_default_str();
  app.add_option(
         "--isolation", options.isolation,
         "cpu backend: which clients share a process for their calls. user: the sessions "
         "of one user; session: none do; none: all calls run in the daemon's process. auto: "
         "none if every address is a Unix socket, which only the daemon's own user can "
         "use, else user")
      ->check(CLI::IsMember({"auto", "user", "session", "none"}))
      ->capture_default_str();
  app.add_option("--kernels", options.kernels,
                 "The most that clients may load as kernels of their own: off, modules in the "
                 "portable language, or all that a device takes (native). The daemon's own user "
                 "over a Unix socket may load native ones, clients with a key what the key says, "
                 "and nobody else any. Kernels run in a process for each session (cpu backend).")
      ->check(CLI::IsMember({"off", "portable", "native"}))
      ->capture_default_str();
  app.add_option(
         "--kernels-without-key", options.kernels_without_key,
         "Let clients over TCP load kernels although nobody proves who they are. This needs "
         "a daemon without a key, on loopback addresses: every user of this machine may "
         "then run code as the daemon's user, behind the walls of its processes.")
      ->check(CLI::IsMember({"off", "portable", "native"}))
      ->capture_default_str();
  app.add_flag(
      "--kernels-in-process", options.device.kernels_in_process,
      "cuda and opencl backends: run kernels of clients in the daemon's process, as far as "
      "the options above allow. A bad kernel can then end the daemon, hold its device for "
      "ever, and read and change the memory of all clients.");
  app.add_option("--longest-kernel", options.device.longest_kernel_s,
                 "cpu backend: end a kernel that takes more seconds. While others wait for their "
                 "turn, --longest-command counts, too. 0: no limit.")
      ->check(seconds_up_to(4e6))
      ->capture_default_str();
  app.add_option("--idle-time", options.idle_seconds,
                 "Close a connection that nobody has used for this many seconds.")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app.add_option("--drain-time", options.drain_seconds,
                 "After SIGTERM, wait this many seconds for calls in flight. Then clients are cut "
                 "off, and calls that a device does not end are aborted.")
      ->check(seconds_up_to(1e6))
      ->capture_default_str();
}

// Declares the options of the devices.
void declare_devices(CLI::App& app, DeviceOptions& device) {
  app.add_option("--backend", device.backend,
                 "Compute with the libraries of this backend. auto chooses cuda or opencl if there "
                 "is an accelerator, and else cpu. null computes nothing.")
      ->check(CLI::IsMember({"auto", "cpu", "cuda", "null", "opencl"}))
      ->capture_default_str();
  app.add_option("--devices", device.devices,
                 "Offer this many devices. Devices of cpu get equal parts of the cores. Devices of "
                 "cuda and opencl are the accelerators, in turn.")
      ->check(CLI::Range(1u, 64u))
      ->capture_default_str();
  add_size(app, "--device-memory", device.memory_bytes,
           "Limit the memory of each device, e.g. 512M or 4GiB. The default is an equal part of "
           "the memory of this machine or of the accelerator.");
  app.add_option("--device-rate", device.device_rate,
                 "Let a null device take as long as a device of this rate, e.g. 500GF.");
  app.add_option("--plan-time", device.plan_seconds,
                 "Let a null device take this long for a plan of a transform, e.g. 50ms.")
      ->transform(CLI::AsNumberWithUnit(
          std::map<std::string, double>{{"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}},
          CLI::AsNumberWithUnit::UNIT_REQUIRED))
      ->check(seconds_up_to(1e6));
  app.add_option("--fail-allocations", device.fail_allocations,
                 "For tests: let each Nth allocation of device memory fail (cpu, cuda, opencl).");
  app.add_option("--corrupt", device.corrupt,
                 "For tests: put a wrong element into each Nth result (cpu).");
  app.add_option("--fail-calls", device.fail_calls,
                 "For tests: let a call or transform that finds this file fail as if the device "
                 "had, and remove the file. A folder stays, and all fail (cpu).");
}

// Declares the options of connections.
void declare_connections(CLI::App& app, Options& options) {
  app.add_option(
         "--listen", options.listen,
         "Listen on this address: HOST:PORT (port 0 picks a free one), unix:PATH for clients on "
         "this machine, ucx:HOST:PORT to carry data through UCX, or fd:N for a Unix socket that "
         "listens already as descriptor N. It may be repeated.")
      ->capture_default_str();
  app.add_option("--key", options.key_folder,
                 "Take this daemon's key from this folder (outboard key). Clients must have a key "
                 "of the same pool, and the daemon may listen on any address.");
  app.add_flag("--plain", options.plain,
               "With --key: let data travel unencrypted to clients that have --plain, too. This is "
               "for networks that nobody else can listen or write to.");
  app.add_flag("--no-peers", options.no_peers,
               "Never connect to other daemons. Devices of several daemons then exchange data "
               "through the client.");
  app.add_option("--max-streams", options.max_streams,
                 "Let a client stripe a connection over at most this many TCP streams.")
      ->check(CLI::Range(1u, options.max_streams))
      ->capture_default_str();
  add_size(app, "--stripe", options.stripe_bytes,
           "Send this many bytes on one such stream before the next one is used, e.g. 256KiB.")
      ->check(CLI::Range(1u, 1u << 30))
      ->capture_default_str();
}

// Reads NAME=VALUE.
bool read_label(const std::string& text, Options& options) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) return false;
  options.labels[text.substr(0, equals)] = text.substr(equals + 1);
  return true;
}

// Declares the options of daemons that a pool manages.
void declare_pool(CLI::App& app, Options& options) {
  app.add_option("--pool", options.pool_url,
                 "Serve only leases of the pool whose manager is at this URL: https://HOST:PORT "
                 "with --key, http://127.0.0.1:PORT or unix:PATH. Several managers: URL,URL.");
  app.add_option("--name", options.name,
                 "With --pool and without --key: the name of this daemon in the pool. The default "
                 "is the host's. With --key, the key names it.");
  app.add_option("--advertise", options.advertise,
                 "With --pool: an address under which clients reach this daemon, if that is not "
                 "the one it listens on. It may be repeated.");
  app.add_option_function<std::vector<std::string>>(
      "--label",
      [&options](const std::vector<std::string>& labels) {
        for (const std::string& label : labels) {
          if (!read_label(label, options)) {
            throw CLI::ValidationError("--label",
                                       "'" + label + "' has no name and value; write rack=r7");
          }
        }
      },
      "With --pool: NAME=VALUE, such as rack=r7. Clients may ask for devices with it. It may be "
      "repeated.");
  app.add_option("--manager-grace", options.manager_grace_seconds,
                 "With --pool: while the manager is silent, leases that end stay good for so many "
                 "seconds after its last word.")
      ->check(seconds_up_to(1e6))
      ->capture_default_str();
  app.add_option("--self-test-time", options.self_test_seconds,
                 "With --pool: test a device that is broken every so many seconds; after three "
                 "tests with right results the manager offers it again.")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  app.add_option("--without-lease", options.without_lease,
                 "With --pool: refuse clients that have no lease, or (idle) serve them while no "
                 "lease has the device, and end their sessions as soon as one does. The default is "
                 "to refuse them.")
      ->check(CLI::IsMember({"refuse", "idle"}));
}

void check_pool(const Options& options) {
  if (options.without_lease.empty() || !options.pool_url.empty()) return;
  throw CLI::ValidationError(
      "--without-lease needs --pool (without a pool there are no leases, and "
      "everybody is served) add --pool URL, or leave it out");
}

void declare(CLI::App& app, Options& options) {
  declare_connections(app, options);
  declare_pool(app, options);
  declare_devices(app, options.device);
  declare_limits(app, options);
  app.add_option(
      "--metrics", options.metrics,
      "Serve metrics for Prometheus over HTTP on this address, HOST:PORT or [IPV6]:PORT, "
      "at /metrics. They name no users and no leases. Every user of this machine may "
      "read them. The default is not to.");
  app.add_flag("--metrics-open", options.metrics_open,
               "Let --metrics be an address that other machines reach. Nothing is encrypted, and "
               "nobody needs a key to read the metrics.");
  app.add_option("--log-level", options.log_level,
                 "Log lines of at least this importance on stderr.")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  app.add_flag("--exit-with-parent", options.exit_with_parent,
               "Drain and stop when the process that started the daemon ends.");
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
    check_pool(options);
  } catch (const CLI::ParseError& end) {
    return app.exit(end) == 0 ? 0 : kUsageError;
  }
  return std::nullopt;
}

}  // namespace ob::apps
