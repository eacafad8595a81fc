#include "bench/device_launches.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <outboard/device.hpp>

#include "bench/daemon_process.hpp"
#include "bench/or_exit.hpp"
#include "bench/raw_launches.hpp"
#include "wire/codec.hpp"
#include "wire/message.hpp"

namespace ob::bench {
namespace {

using Clock = std::chrono::steady_clock;

// The most that the worker process may add to a launch and the wait for it in this process; over
// TCP a round trip of the network comes on top.   Units: us
constexpr double kOverShm_us = 30;
constexpr double kOverTcp_us = 40;

const std::string& source() {
  static const std::string text = "__kernel void nothing(__global double* x, ulong n) {}";
  return text;
}

// The header and the body of this launch on the wire.
std::size_t launch_bytes() {
  wire::Launch message;
  message.kernel = "nothing";
  message.arguments.resize(2);
  message.values.resize(1);
  wire::Body body;
  wire::encode(message, body);
  return wire::kHeaderBytes + body.bytes().size();
}

// A device with an empty kernel whose arguments are set.
class Launcher {
 public:
  explicit Launcher(const std::string& where)
      : device_(where),
        queue_(device_),
        buffer_(device_, 512),
        module_(device_, outboard::portable(source())),
        kernel_(module_.kernel<outboard::InOut<double>, std::uint64_t>("nothing")) {
    module_.wait();
    kernel_(queue_, {1}, {1}, buffer_.view(), std::uint64_t{0});  // keeps the arguments
    queue_.synchronize();
  }

  /// The time of a launch and the wait for it.   Units: us
  double round_trip(std::uint64_t count) {
    const auto start = Clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
      launch();
      queue_.synchronize();
    }
    return seconds_since(start) / static_cast<double>(count) * 1e6;
  }

  /// The rate of launches with one wait at their end.   Units: 1/s
  double launches(std::uint64_t count) {
    const auto start = Clock::now();
    for (std::uint64_t i = 0; i < count; ++i) launch();
    queue_.synchronize();
    return static_cast<double>(count) / seconds_since(start);
  }

 private:
  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  void launch() {
    static constexpr std::uint32_t kOne[3] = {1, 1, 1};
    outboard::check(ob_kernel_run(kernel_.get(), queue_.get(), kOne, kOne));
  }

  outboard::Device device_;
  outboard::Queue queue_;
  outboard::Vector<double> buffer_;
  outboard::Module module_;
  outboard::Kernel<outboard::InOut<double>, std::uint64_t> kernel_;
};

Row row_of(const std::string& name, const char* unit, Better better, std::string ceiling_name) {
  Row row;
  row.bench = "device";
  row.name = name;
  row.bytes = launch_bytes();
  row.unit = unit;
  row.better = better;
  row.ceiling_name = std::move(ceiling_name);
  return row;
}

double raw_messages(Conversation& raw, std::uint64_t count) {
  return raw.stream(launch_bytes(), Direction::to_peer, count) * 1e9 /
         static_cast<double>(launch_bytes());
}

// Launches through the worker process of a session, beside those in this process and PoCL's own.
void measure_workers(RawLaunches& pocl, Conversation& raw, const Options& options, Report& report) {
  const auto daemon =
      or_exit(DaemonProcess::start({"--backend", "cpu", "--kernels-without-key", "portable"}));
  Launcher local("local:cpu");
  Launcher shm(daemon->shm());
  Launcher tcp(daemon->tcp());
  const std::uint64_t count = options.check ? 10 : 1000;
  Row in_process = row_of("local:cpu, launch and wait", "us", Better::smaller, "PoCL by itself");
  Row by_shm = row_of("shm, launch and wait", "us", Better::smaller, "local:cpu");
  Row by_tcp = row_of("tcp, launch and wait", "us", Better::smaller, "local:cpu");
  Row over_shm = row_of("shm, over local:cpu", "us", Better::smaller, "the bar, 30 us");
  Row over_tcp =
      row_of("tcp, over local:cpu", "us", Better::smaller, "the bar, 40 us and a raw round trip");
  Row shm_rate = row_of("shm, launches one way", "1/s", Better::larger, "PoCL by itself");
  Row tcp_rate = row_of("tcp, launches one way", "1/s", Better::larger, "PoCL by itself");
  Row local_rate = row_of("local:cpu, launches", "1/s", Better::larger, "PoCL by itself");
  for (int run = 0; run < options.runs; ++run) {
    const double own = local.round_trip(count);
    const double shm_us = shm.round_trip(count);
    const double tcp_us = tcp.round_trip(count);
    in_process.ceiling.add(pocl.round_trip(count));
    in_process.samples.add(own);
    by_shm.ceiling.add(own);
    by_shm.samples.add(shm_us);
    by_tcp.ceiling.add(own);
    by_tcp.samples.add(tcp_us);
    over_shm.ceiling.add(kOverShm_us);
    over_shm.samples.add(std::max(shm_us - own, 1e-3));
    over_tcp.ceiling.add(kOverTcp_us + raw.ping_pong(launch_bytes(), count));
    over_tcp.samples.add(std::max(tcp_us - own, 1e-3));
    const double limit = pocl.launches(count);
    for (Row* row : {&local_rate, &shm_rate, &tcp_rate}) row->ceiling.add(limit);
    local_rate.samples.add(local.launches(count));
    shm_rate.samples.add(shm.launches(count));
    tcp_rate.samples.add(tcp.launches(count));
  }
  for (Row* row :
       {&in_process, &by_shm, &by_tcp, &over_shm, &over_tcp, &local_rate, &shm_rate, &tcp_rate}) {
    report.add(*row);
  }
}

// Launches that cost nothing on the device, so that the API and the way to the device remain.
void measure_nothing(Conversation& raw, const Options& options, Report& report) {
  const auto daemon =
      or_exit(DaemonProcess::start({"--backend", "null", "--kernels-without-key", "portable"}));
  Launcher local("local:null");
  Launcher shm(daemon->shm());
  Launcher tcp(daemon->tcp());
  const std::uint64_t count = options.check ? 10 : 20000;
  Row own = row_of("local:null, launches", "1/s", Better::larger, "");
  Row by_shm = row_of("shm, null, launches one way", "1/s", Better::larger, "");
  Row by_tcp = row_of("tcp, null, launches one way", "1/s", Better::larger,
                      "messages of this size, raw socket");
  for (int run = 0; run < options.runs; ++run) {
    by_tcp.ceiling.add(raw_messages(raw, count));
    own.samples.add(local.launches(count));
    by_shm.samples.add(shm.launches(count));
    by_tcp.samples.add(tcp.launches(count));
  }
  for (Row* row : {&own, &by_shm, &by_tcp}) report.add(*row);
}

}  // namespace

void measure_launches(Conversation& raw, const Options& options, Report& report) {
  if (const auto pocl = RawLaunches::open()) {
    measure_workers(*pocl, raw, options, report);
  } else {
    std::fprintf(stderr, "bench_device: there is no PoCL; rows of kernels that run are left out\n");
  }
  measure_nothing(raw, options, report);
}

}  // namespace ob::bench
