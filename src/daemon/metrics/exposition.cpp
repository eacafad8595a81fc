#include "daemon/metrics/exposition.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "wire/message.hpp"

namespace ob::daemon {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

// Connections and answers end with one of these. `declined` never leaves the client.
constexpr std::array kCodes{Code::ok,
                            Code::invalid_argument,
                            Code::unsupported,
                            Code::out_of_memory,
                            Code::deadline_exceeded,
                            Code::denied,
                            Code::version_mismatch,
                            Code::protocol_error,
                            Code::connection_lost,
                            Code::device_error,
                            Code::unavailable,
                            Code::internal,
                            Code::busy,
                            Code::build_failed,
                            Code::kernel_fault,
                            Code::fenced};

// Label values are names of our own, and names of backends: none has characters to escape.
class ExpositionText {
 public:
  void metric(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
    text_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
  }
  void value(std::string_view labels, std::uint64_t number) {
    sample(labels, std::to_string(number));
  }
  void seconds(std::string_view labels, std::uint64_t ns) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%" PRIu64 ".%09" PRIu64, ns / kNsPerSecond,
                  ns % kNsPerSecond);
    sample(labels, digits);
  }
  std::string take() { return std::move(text_); }

 private:
  void sample(std::string_view labels, std::string_view number) {
    text_.append(name_);
    if (!labels.empty()) text_.append("{").append(labels).append("}");
    text_.append(" ").append(number).append("\n");
  }

  std::string text_;
  std::string_view name_;
};

std::string label(std::string_view name, std::string_view value) {
  std::string text(name);
  text.append("=\"").append(value).append("\"");
  return text;
}

std::string code_label(Code code) {
  std::string name = to_string(code);
  std::ranges::replace(name, ' ', '_');
  return label("code", name);
}

template <class Number>
void by_device(ExpositionText& text, const DaemonFacts& facts, Number number) {
  for (std::size_t i = 0; i < facts.devices.size(); ++i) {
    text.value(label("device", std::to_string(i)), number(facts.devices[i]));
  }
}

template <class Time>
void seconds_by_device(ExpositionText& text, const DaemonFacts& facts, Time ns) {
  for (std::size_t i = 0; i < facts.devices.size(); ++i) {
    text.seconds(label("device", std::to_string(i)), ns(facts.devices[i]));
  }
}

void write_devices(ExpositionText& text, const DaemonFacts& facts) {
  text.metric("outboard_daemon_device_info", "gauge", "The backend of a device.");
  for (std::size_t i = 0; i < facts.devices.size(); ++i) {
    text.value(
        label("device", std::to_string(i)) + "," + label("backend", facts.devices[i].backend), 1);
  }
  text.metric("outboard_daemon_sessions", "gauge", "Open sessions.");
  by_device(text, facts, [](const auto& device) { return device.sessions; });
  text.metric("outboard_daemon_unleased_sessions", "gauge",
              "Open sessions without a lease, at a daemon of a pool.");
  by_device(text, facts, [](const auto& device) { return device.unleased_sessions; });
  text.metric("outboard_daemon_turns", "gauge", "Computations that run or wait for their turn.");
  by_device(text, facts, [](const auto& device) { return device.turns; });
  text.metric("outboard_daemon_memory_used_bytes", "gauge", "Device memory in use.");
  by_device(text, facts, [](const auto& device) { return device.memory.used_bytes; });
  text.metric("outboard_daemon_memory_limit_bytes", "gauge", "Device memory that is offered.");
  by_device(text, facts, [](const auto& device) { return device.memory_bytes; });
  text.metric("outboard_daemon_computations_total", "counter", "Calls, transforms and kernels.");
  by_device(text, facts, [](const auto& device) { return device.use.computations; });
  text.metric("outboard_daemon_compute_seconds_total", "counter", "Time of computations.");
  seconds_by_device(text, facts, [](const auto& device) { return device.use.compute_ns; });
  text.metric("outboard_daemon_turn_wait_seconds_total", "counter",
              "Time for which computations waited for their turns.");
  seconds_by_device(text, facts, [](const auto& device) { return device.use.waited_ns; });
  text.metric("outboard_daemon_executor_deaths_total", "counter",
              "Processes with the work of clients that ended before they were told to.");
  by_device(text, facts, [](const auto& device) { return device.executor_deaths; });
}

void write_codes(ExpositionText& text, const auto& counts) {
  for (const Code code : kCodes) text.value(code_label(code), counts.of(code));
}

void write_connections(ExpositionText& text, const DaemonFacts& facts) {
  const DaemonCounters& counters = facts.counters;
  const auto by_transport = [&](const auto& number) {
    for (std::size_t i = 0; i < kTransportNames.size(); ++i) {
      text.value(label("transport", kTransportNames[i]), number(i));
    }
  };
  text.metric("outboard_daemon_connections", "gauge", "Open connections.");
  text.value(label("state", "handshake"), facts.handshakes);
  text.value(label("state", "member"), facts.members);
  text.metric("outboard_daemon_connections_total", "counter", "Accepted connections.");
  by_transport([&](std::size_t i) { return counters.connections.of(static_cast<Transport>(i)); });
  text.metric("outboard_daemon_received_bytes_total", "counter",
              "Bytes from connections, without copies through shared memory.");
  by_transport([&](std::size_t i) { return counters.traffic[i]->use().received_bytes; });
  text.metric("outboard_daemon_sent_bytes_total", "counter",
              "Bytes to connections, without copies through shared memory.");
  by_transport([&](std::size_t i) { return counters.traffic[i]->use().sent_bytes; });
  text.metric("outboard_daemon_refusals_total", "counter",
              "Connections that ended before the end of their handshake.");
  write_codes(text, counters.refusals);
  text.metric("outboard_daemon_connection_ends_total", "counter", "Ended connections of members.");
  write_codes(text, counters.ended);
}

void write_commands(ExpositionText& text, const DaemonCounters& counters) {
  text.metric("outboard_daemon_commands_total", "counter", "Commands of clients.");
  for (const wire::OpcodeFacts& facts : wire::kOpcodes) {
    if (!facts.is_command() || facts.opcode == wire::Opcode::goodbye) continue;
    text.value(label("command", facts.name), counters.commands.of(facts.opcode));
  }
  text.metric("outboard_daemon_failures_total", "counter",
              "Answers about commands in queues that told a client of a failure.");
  write_codes(text, counters.failed_answers);
}

std::uint64_t ns_of(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(time.tv_usec) * 1000;
}

std::uint64_t resident_bytes() {
  std::uint64_t pages = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%*u %" SCNu64, &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t open_descriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator all("/proc/self/fd", error);
  return error ? 0 : static_cast<std::uint64_t>(std::distance(begin(all), end(all)));
}

// The names are those that Prometheus gives to all processes.
void write_process(ExpositionText& text, const DaemonFacts& facts) {
  rusage usage{};
  rlimit files{};
  (void)::getrusage(RUSAGE_SELF, &usage);
  (void)::getrlimit(RLIMIT_NOFILE, &files);
  const auto started = facts.started.time_since_epoch();
  text.metric("process_start_time_seconds", "gauge", "Start of the daemon, since 1970.");
  text.seconds({}, static_cast<std::uint64_t>(
                       std::chrono::duration_cast<std::chrono::nanoseconds>(started).count()));
  text.metric("process_cpu_seconds_total", "counter", "Processor time of the daemon itself.");
  text.seconds({}, ns_of(usage.ru_utime) + ns_of(usage.ru_stime));
  text.metric("process_resident_memory_bytes", "gauge", "Memory of the daemon in RAM.");
  text.value({}, resident_bytes());
  text.metric("process_open_fds", "gauge", "Open descriptors.");
  text.value({}, open_descriptors());
  text.metric("process_max_fds", "gauge", "Most descriptors.");
  text.value({}, files.rlim_cur);
}

}  // namespace

std::string exposition(const DaemonFacts& facts) {
  ExpositionText text;
  text.metric("outboard_daemon_build_info", "gauge", "The daemon's version.");
  text.value(
      label("version", OUTBOARD_VERSION) + "," + label("protocol", std::to_string(wire::kVersion)),
      1);
  write_devices(text, facts);
  write_connections(text, facts);
  write_commands(text, facts.counters);
  write_process(text, facts);
  return text.take();
}

}  // namespace ob::daemon
