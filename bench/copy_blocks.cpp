// Measures, for several sizes, copies between host memory and a device buffer, in one command or in
// commands of one block each. `outboard bench copies` runs it and passes the address of the daemon.
//
// Prints a line for each direction, size and block [bytes]; a block of 0 is one command:
//
//   to|from,SIZE,BLOCK,CEILING,RATE,RATE,...     MiB/s; the ceiling is 0 without --ceiling
//
// Source: DAC, section V.A (figures 5 and 6)

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/ceilings.hpp"
#include "bench/command_line.hpp"
#include "bench/or_exit.hpp"
#include "client/remote_device.hpp"

namespace ob::bench {
namespace {

constexpr double kMibPerSecond = 1e9 / (1 << 20);  // for one GB/s

struct CopyOptions {
  std::string server;
  std::string ceiling = "none";
  std::vector<std::size_t> sizes{1 << 20};
  std::vector<std::size_t> blocks{0};
  int runs = 5;
  std::uint64_t copies = 0;
};

// A buffer on the device and as much host memory. All of both is touched.
class Copies {
 public:
  Copies(const std::string& server, std::size_t largest_bytes)
      : host_(largest_bytes, std::byte{1}), device_(or_exit(client::RemoteDevice::open(server))) {
    queue_ = or_exit(device_->create_queue());
    buffer_ = or_exit(device_->allocate(largest_bytes));
    (void)rate(Direction::to_peer, largest_bytes, 0, 1);
  }

  /// The rate of so many copies, each in blocks, with a wait after each.   Units: MiB/s
  double rate(Direction direction, std::size_t bytes, std::size_t block_bytes,
              std::uint64_t copies) {
    const auto start = transport::Clock::now();
    for (std::uint64_t i = 0; i < copies; ++i) {
      copy(direction, bytes, block_bytes);
      or_exit(device_->synchronize(queue_).status);
    }
    const std::chrono::duration<double> taken = transport::Clock::now() - start;
    return static_cast<double>(bytes) * static_cast<double>(copies) / taken.count() / (1 << 20);
  }

 private:
  void copy(Direction direction, std::size_t bytes, std::size_t block_bytes) {
    const std::size_t step = block_bytes == 0 ? bytes : block_bytes;
    for (std::size_t at = 0; at < bytes; at += step) {
      const std::size_t n = std::min(step, bytes - at);
      const Region region{at, 1, Triangle::full, n, 1, n};
      const Layout host = Layout::bytes(host_.data() + at, n);
      or_exit(direction == Direction::to_peer ? device_->write(queue_, buffer_, region, host)
                                              : device_->read(queue_, buffer_, region, host));
    }
  }

  std::vector<std::byte> host_;
  std::unique_ptr<client::RemoteDevice> device_;
  QueueId queue_;
  BufferId buffer_;
};

// Measures the rate of one message with a wait at its end [GB/s].
using Ceiling = std::function<double(std::size_t bytes, Direction)>;

// The rate of so many messages, one after another [MiB/s].
double limit(const Ceiling& ceiling, std::size_t bytes, Direction direction, std::uint64_t copies) {
  double per_byte = 0;
  for (std::uint64_t i = 0; i < copies; ++i) per_byte += 1 / ceiling(bytes, direction);
  return static_cast<double>(copies) / per_byte * kMibPerSecond;
}

void measure(const CopyOptions& options, const Ceiling& ceiling) {
  Copies ours(options.server, *std::max_element(options.sizes.begin(), options.sizes.end()));
  for (const Direction direction : {Direction::to_peer, Direction::from_peer}) {
    for (const std::size_t bytes : options.sizes) {
      const std::uint64_t enough = std::max<std::uint64_t>(1, messages_for(bytes) / 4);
      const std::uint64_t copies = options.copies != 0 ? options.copies : enough;
      std::vector<Samples> rates(options.blocks.size());
      Samples limits;
      for (const std::size_t block : options.blocks) (void)ours.rate(direction, bytes, block, 1);
      for (int run = 0; run < options.runs; ++run) {  // in turns
        if (ceiling) limits.add(limit(ceiling, bytes, direction, copies));
        for (std::size_t i = 0; i < rates.size(); ++i)
          rates[i].add(ours.rate(direction, bytes, options.blocks[i], copies));
      }
      for (std::size_t i = 0; i < rates.size(); ++i) {
        std::printf("%s,%zu,%zu,%.6g", direction == Direction::to_peer ? "to" : "from", bytes,
                    options.blocks[i], limits.median());
        for (const double value : rates[i].values()) std::printf(",%.6g", value);
        std::printf("\n");
      }
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace ob::bench

int main(int argc, char** argv) {
  using namespace ob::bench;
  CopyOptions options;
  CommandLine line("Times copies to a device and back, whole and in blocks.");
  line.add("--server", &options.server, "the daemon's address", {.required = true});
  line.add("--ceiling", &options.ceiling, "measured in turns: a raw loopback socket, memcpy",
           {.one_of = {"none", "socket", "memcpy"}});
  line.add("--sizes", &options.sizes, "of the copies [bytes]");
  line.add("--blocks", &options.blocks, "of a command [bytes]; 0: one command");
  line.add("--runs", &options.runs, "of each, in turns");
  line.add("--copies", &options.copies, "in a run; 0: 64 MiB of them");
  line.parse_or_exit(argc, argv);
  Ceiling ceiling;
  std::unique_ptr<Conversation> raw;
  if (options.ceiling == "socket") {  // forks, so it comes before anything that makes threads
    raw = raw_tcp(*std::max_element(options.sizes.begin(), options.sizes.end()));
    ceiling = [&](std::size_t bytes, Direction direction) {
      return raw->stream(bytes, direction, 1);
    };
  } else if (options.ceiling == "memcpy") {
    ceiling = [](std::size_t bytes, Direction) { return memcpy_once(bytes, false); };
  }
  measure(options, ceiling);
  return 0;
}
