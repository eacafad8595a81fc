// Measures the bandwidth between host memory and device buffers of a daemon on this machine, over
// both transports, by size. The ceilings are raw sockets and memcpy, measured in turn with it.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/ceilings.hpp"
#include "bench/daemon_process.hpp"
#include "bench/or_exit.hpp"
#include "bench/report.hpp"
#include "bench/traffic.hpp"

namespace ob::bench {
namespace {

const char* text(Direction direction) {
  return direction == Direction::to_peer ? "host to device" : "device to host";
}

template <class Ceiling>
void measure(const std::string& transport, const std::string& address,
             const std::string& ceiling_name, const std::vector<std::size_t>& sizes,
             const Options& options, Report& report, Ceiling ceiling) {
  Traffic ours(address, sizes.back());
  for (const Direction direction : {Direction::to_peer, Direction::from_peer}) {
    for (const std::size_t bytes : sizes) {
      const std::uint64_t messages = options.check ? 4 : messages_for(bytes);
      const int runs = bytes >= (256U << 20) ? std::min(options.runs, 7) : options.runs;
      Row row;
      row.bench = "transport";
      row.name = transport + " " + text(direction);
      row.bytes = bytes;
      row.unit = "GB/s";
      row.ceiling_name = ceiling_name;
      (void)ours.rate(bytes, direction, 1);
      for (int i = 0; i < runs; ++i) {
        row.samples.add(ours.rate(bytes, direction, messages));
        row.ceiling.add(ceiling(bytes, direction, messages));
      }
      report.add(row);
    }
  }
}

std::vector<std::size_t> sizes(bool check) {
  if (check) return {1 << 10, 1 << 20};
  return {1 << 10, 16 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30};
}

}  // namespace
}  // namespace ob::bench

int main(int argc, char** argv) {
  using namespace ob::bench;
  const Options options =
      Options::parse_or_exit(argc, argv, "Bandwidth between host memory and a daemon's device.");
  const auto all = sizes(options.check);
  const auto raw = raw_tcp(all.back());  // forks, so it comes before anything that makes threads
  const auto daemon = or_exit(DaemonProcess::start({"--backend", "null"}));
  Report report;
  measure("tcp", daemon->tcp(), "raw socket", all, options, report,
          [&](std::size_t bytes, Direction direction, std::uint64_t messages) {
            return raw->stream(bytes, direction, messages);
          });
  measure("shm", daemon->shm(), "memcpy, one thread", all, options, report,
          [](std::size_t bytes, Direction, std::uint64_t) { return memcpy_once(bytes, false); });
  report.write(options);
  return 0;
}
