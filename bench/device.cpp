// Measures the device API (liboutboard.so.1) over both transports of this machine: copies that are
// waited for one by one, the round trip of a call, and the rate of calls that nobody waits for. The
// ceilings are measured in turn: raw sockets, memcpy, and the same copies without the API. Flags in
// shared memory are measured before, because that forks.
//
// Source: DAC, section V.A (figures 5 and 6) for the copies

#include <outboard/device.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/ceilings.hpp"
#include "bench/daemon_process.hpp"
#include "bench/device_launches.hpp"
#include "bench/report.hpp"
#include "bench/traffic.hpp"

namespace ob::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The header and the body of a daxpy on the wire (docs/wire.md).
constexpr std::size_t kCallBytes = 136;

// A device with a queue and a buffer. All of its memory is touched.
class OpenDevice {
 public:
  OpenDevice(const std::string& where, std::size_t largest_bytes)
      : host_(largest_bytes / sizeof(double), 1.0),
        device_(where),
        queue_(device_),
        buffer_(device_, static_cast<std::int64_t>(host_.size())) {
    (void)copies(largest_bytes, Direction::to_peer, 1);
    (void)copies(largest_bytes, Direction::from_peer, 1);
  }

  // The rate of copies that are waited for one by one, each at the next of `places`, in commands of
  // `block_bytes`; 0: one command.   Units: GB/s
  double copies(std::size_t bytes, Direction direction, std::uint64_t count, std::size_t places = 1,
                std::size_t block_bytes = 0) {
    const std::size_t step = block_bytes == 0 ? bytes : block_bytes;
    const auto start = Clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::size_t at = i % places * bytes;
      for (std::size_t done = 0; done < bytes; done += step) {
        copy(direction, at + done, std::min(step, bytes - done));
      }
      queue_.synchronize();
    }
    return static_cast<double>(bytes) * static_cast<double>(count) / seconds_since(start) * 1e-9;
  }

  // The time of a call of almost no work and the wait for it.   Units: us
  double round_trip(std::uint64_t count) {
    const auto start = Clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
      call();
      queue_.synchronize();
    }
    return seconds_since(start) / static_cast<double>(count) * 1e6;
  }

  // The rate of calls with one wait at their end.   Units: calls/s
  double calls(std::uint64_t count) {
    const auto start = Clock::now();
    for (std::uint64_t i = 0; i < count; ++i) call();
    queue_.synchronize();
    return static_cast<double>(count) / seconds_since(start);
  }

 private:
  void copy(Direction direction, std::size_t at, std::size_t bytes) {
    const ob_place place{buffer_.buffer().get(), at};
    double* const host = host_.data() + at / sizeof(double);
    outboard::check(direction == Direction::to_peer ? ob_write(queue_.get(), place, host, bytes, 0)
                                                    : ob_read(queue_.get(), host, place, bytes, 0));
  }
  void call() {
    using namespace outboard;
    const MatrixView<double> all = buffer_.view();
    queue_.call("daxpy", {integer(1), scalar(1), operand(all.block(0, 0, 1, 1)),
                          operand(all.block(1, 0, 1, 1))});
  }

  std::vector<double> host_;
  outboard::Device device_;
  outboard::Queue queue_;
  outboard::Vector<double> buffer_;
};

// The limits of a way to the device.
struct Ceilings {
  std::uint64_t share = 1;  // of the copies of a measurement by memcpy
  std::string copies_name;
  std::function<double(std::size_t bytes, Direction, std::uint64_t count)> copies;  // GB/s
  std::string round_trip_name;
  std::function<double(std::uint64_t count)> round_trip;  // us
  std::function<double(std::uint64_t count)> messages;    // of kCallBytes per second; may be empty
};

Row row_of(const std::string& name, std::size_t bytes, const char* unit, Better better,
           const std::string& ceiling_name) {
  Row row;
  row.bench = "device";
  row.name = name;
  row.bytes = bytes;
  row.unit = unit;
  row.better = better;
  row.ceiling_name = ceiling_name;
  return row;
}

// The rate of transfers by the client's own classes, which the API wraps.
double without_api(Traffic& traffic, std::size_t bytes, Direction direction, std::uint64_t count) {
  double seconds = 0;
  for (std::uint64_t i = 0; i < count; ++i)
    seconds += static_cast<double>(bytes) * 1e-9 / traffic.rate(bytes, direction, 1);
  return static_cast<double>(bytes) * static_cast<double>(count) / seconds * 1e-9;
}

class Measurement {
 public:
  Measurement(std::string way, const std::string& address, const std::vector<std::size_t>& sizes,
              Ceilings ceilings, const Options& options, Report& report)
      : way_(std::move(way)),
        address_(address),
        sizes_(sizes),
        ceilings_(std::move(ceilings)),
        options_(options),
        report_(report),
        device_(address, sizes.back()) {}

  void copies() {
    Traffic traffic(address_, sizes_.back());
    for (const Direction direction : {Direction::to_peer, Direction::from_peer}) {
      for (const std::size_t bytes : sizes_) {
        const std::uint64_t count = copies_of(bytes);
        const std::string name =
            way_ + (direction == Direction::to_peer ? ", host to device" : ", device to host");
        Row beside = row_of(name, bytes, "GB/s", Better::larger, ceilings_.copies_name);
        Row inside = row_of(name, bytes, "GB/s", Better::larger, "without the API");
        for (int run = 0; run < options_.runs; ++run) {
          beside.ceiling.add(ceilings_.copies(bytes, direction, count));
          (void)without_api(traffic, bytes, direction, 1);
          inside.ceiling.add(without_api(traffic, bytes, direction, count));
          (void)device_.copies(bytes, direction, 1);  // brings its memory into the caches
          beside.samples.add(device_.copies(bytes, direction, count));
        }
        inside.samples = beside.samples;
        report_.add(beside);
        report_.add(inside);
      }
    }
  }

  // A copy in several commands, beside the ceiling of one.   Source: DAC, figures 7 and 8
  void blocks() {
    const std::size_t bytes = std::min<std::size_t>(16 << 20, sizes_.back());
    const std::uint64_t count = copies_of(bytes);
    for (const Direction direction : {Direction::to_peer, Direction::from_peer}) {
      for (const std::size_t block : {128 << 10, 512 << 10, 1 << 20, 4 << 20}) {
        Row row =
            row_of(way_ + (direction == Direction::to_peer ? ", to device in " : ", to host in ") +
                       size_text(block),
                   bytes, "GB/s", Better::larger, ceilings_.copies_name);
        for (int run = 0; run < options_.runs; ++run) {
          row.ceiling.add(ceilings_.copies(bytes, direction, count));
          (void)device_.copies(bytes, direction, 1, 1, block);
          row.samples.add(device_.copies(bytes, direction, count, 1, block));
        }
        report_.add(row);
      }
    }
  }

  void calls() {
    const std::uint64_t count = options_.check ? 10 : 2000;
    Row trip =
        row_of(way_ + ", call and wait", 0, "us", Better::smaller, ceilings_.round_trip_name);
    Row rate = row_of(way_ + ", calls one way", kCallBytes, "1/s", Better::larger,
                      ceilings_.messages ? "messages of this size, raw socket" : "");
    (void)device_.calls(count);
    for (int run = 0; run < options_.runs; ++run) {
      trip.ceiling.add(ceilings_.round_trip(count));
      trip.samples.add(device_.round_trip(count));
      if (ceilings_.messages) rate.ceiling.add(ceilings_.messages(10 * count));
      rate.samples.add(device_.calls(10 * count));
    }
    report_.add(trip);
    report_.add(rate);
  }

 private:
  std::uint64_t copies_of(std::size_t bytes) const {
    return options_.check ? 2 : std::max<std::uint64_t>(1, messages_for(bytes) / ceilings_.share);
  }

  const std::string way_;
  const std::string address_;
  const std::vector<std::size_t> sizes_;
  const Ceilings ceilings_;
  const Options& options_;
  Report& report_;
  OpenDevice device_;
};

// Copies whose source and destination are not in the caches, beside memcpy of such memory. Each
// place is used once before the others have passed through the caches.
void cold_copies(const std::string& address, const Options& options, Report& report) {
  const std::size_t pool_bytes = options.check ? 4 << 20 : kBeyondCaches_bytes;
  OpenDevice device(address, pool_bytes);
  std::vector<std::size_t> sizes{1 << 20};
  if (!options.check) sizes.insert(sizes.end(), {4 << 20, 16 << 20, 64 << 20});
  for (const Direction direction : {Direction::to_peer, Direction::from_peer}) {
    for (const std::size_t bytes : sizes) {
      const std::size_t places = pool_bytes / bytes;
      Row row = row_of(direction == Direction::to_peer ? "shm, cold, host to device"
                                                       : "shm, cold, device to host",
                       bytes, "GB/s", Better::larger, "memcpy, one thread, cold");
      for (int run = 0; run < options.runs; ++run) {
        row.ceiling.add(memcpy_once(bytes, !options.check));
        row.samples.add(device.copies(bytes, direction, places, places));
      }
      report.add(row);
    }
  }
}

std::vector<std::size_t> sizes(bool check) {
  if (check) return {64 << 10, 1 << 20};
  return {64 << 10, 512 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20};
}

}  // namespace
}  // namespace ob::bench

int main(int argc, char** argv) {
  using namespace ob::bench;
  const Options options =
      Options::parse_or_exit(argc, argv, "The device API: copies, calls, and launches of kernels.",
                             {"copies", "calls", "launches"});
  const auto all = sizes(options.check);
  const auto raw = raw_tcp(all.back());  // forks, so it comes before anything that makes threads
  const Ceilings tcp{
      .share = 4,
      .copies_name = "raw socket",
      .copies =
          [&](std::size_t bytes, Direction direction, std::uint64_t count) {
            double per_byte = 0;
            for (std::uint64_t i = 0; i < count; ++i)
              per_byte += 1 / raw->stream(bytes, direction, 1);
            return static_cast<double>(count) / per_byte;
          },
      .round_trip_name = "round trip of a raw socket",
      .round_trip = [&](std::uint64_t count) { return raw->ping_pong(kCallBytes, count); },
      .messages =
          [&](std::uint64_t count) {
            return raw->stream(kCallBytes, Direction::to_peer, count) * 1e9 / kCallBytes;
          }};
  const Samples memory = raw_memory_ping_pong(kCallBytes, options.check ? 1 : 5);  // forks
  const Ceilings shm{.share = 1,
                     .copies_name = "memcpy, one thread",
                     .copies = [](std::size_t bytes, Direction,
                                  std::uint64_t) { return memcpy_once(bytes, false); },
                     .round_trip_name = "flags in shared memory",
                     .round_trip = [&](std::uint64_t) { return memory.median(); },
                     .messages = {}};
  try {
    const auto daemon = or_exit(DaemonProcess::start({"--backend", "null"}));
    Report report;
    for (const bool is_tcp : {false, true}) {
      Measurement one(is_tcp ? "tcp" : "shm", is_tcp ? daemon->tcp() : daemon->shm(), all,
                      is_tcp ? tcp : shm, options, report);
      if (options.wants("calls")) one.calls();
      if (options.wants("copies")) one.copies();
      if (options.wants("copies")) one.blocks();
    }
    if (options.wants("copies")) cold_copies(daemon->shm(), options, report);
    if (options.wants("launches")) measure_launches(*raw, options, report);
    report.write(options);
  } catch (const outboard::Error& error) {
    std::fprintf(stderr, "bench_device: %s\n", error.what());
    return 1;
  }
  return 0;
}
