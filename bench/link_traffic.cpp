// Measures transfers from host memory to a daemon's device and back, over a given number of
// streams, in Gb/s. bench/outboard_bench/streams.py runs it and makes the links.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/command_line.hpp"
#include "bench/traffic.hpp"

namespace {

using ob::bench::Direction;

constexpr std::size_t kMessageBytes = std::size_t{16} << 20;

struct Options {
  std::string server;
  unsigned streams = 1;
  unsigned windows = 5;
  double seconds = 0.3;
};

// The number of transfers that take about `seconds`. It is below the number of commands of a queue.
std::uint64_t messages_for(double gbyte_per_s, double seconds) {
  const double wanted = gbyte_per_s * 1e9 * seconds / static_cast<double>(kMessageBytes);
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 2, 200);
}

}  // namespace

int main(int argc, char** argv) {
  ob::bench::CommandLine line(
      "Transfers with a daemon's device; prints Gb/s to it and back, a line a window.");
  Options options;
  line.add("--server", &options.server, "the daemon's address", {.required = true});
  line.add("--streams", &options.streams, "TCP streams");
  line.add("--windows", &options.windows, "how often to measure each way");
  line.add("--seconds", &options.seconds, "about how long each time");
  line.parse_or_exit(argc, argv);
  ob::bench::Traffic traffic(options.server, kMessageBytes, options.streams);
  if (traffic.streams() != options.streams) {
    std::fprintf(stderr, "link_traffic: %zu streams instead of %u\n", traffic.streams(),
                 options.streams);
    return EXIT_FAILURE;
  }
  const double to = traffic.rate(kMessageBytes, Direction::to_peer, 8);
  const double from = traffic.rate(kMessageBytes, Direction::from_peer, 8);
  for (unsigned i = 0; i < options.windows; ++i) {
    const auto there = messages_for(to, options.seconds);
    const auto back = messages_for(from, options.seconds);
    std::printf("%.6g ", 8 * traffic.rate(kMessageBytes, Direction::to_peer, there));
    std::printf("%.6g\n", 8 * traffic.rate(kMessageBytes, Direction::from_peer, back));
  }
  return EXIT_SUCCESS;
}
