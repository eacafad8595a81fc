// Measures round trips and rates of every transport by message size. The ceilings are raw sockets,
// polled memory and memcpy. Figures and ceilings are measured in turn, so that other load on the
// machine affects both.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "bench/ceilings.hpp"
#include "bench/or_exit.hpp"
#include "bench/report.hpp"
#include "transport/stream.hpp"

namespace ob::bench {
namespace {

using transport::Clock;

class StreamChannel final : public Channel {
 public:
  explicit StreamChannel(std::unique_ptr<transport::Stream> stream) : stream_(std::move(stream)) {}

  bool send(const std::byte* from, std::size_t size_bytes) override {
    while (size_bytes != 0) {
      const iovec part{const_cast<std::byte*>(from), size_bytes};
      const auto sent = stream_->try_send(std::span(&part, 1));
      if (!sent.ok()) return false;
      from += *sent;
      size_bytes -= *sent;
      if (*sent == 0 && !stream_->wait(false, true, far()).ok()) return false;
    }
    return true;
  }

  bool receive(std::byte* to, std::size_t size_bytes) override {
    while (size_bytes != 0) {
      const iovec part{to, size_bytes};
      const auto received = stream_->try_receive(std::span(&part, 1));
      if (!received.ok()) return false;
      to += *received;
      size_bytes -= *received;
      if (*received == 0 && !stream_->wait(true, false, far()).ok()) return false;
    }
    return true;
  }

 private:
  static transport::Deadline far() { return Clock::now() + std::chrono::minutes(10); }
  const std::unique_ptr<transport::Stream> stream_;
};

std::unique_ptr<Conversation> converse(const std::string& address, std::size_t largest_bytes) {
  const auto listener = or_exit(transport::listen(address));
  const auto soon = [] { return Clock::now() + std::chrono::seconds(30); };
  return std::make_unique<Conversation>(
      largest_bytes,
      [&] {
        return std::make_unique<StreamChannel>(
            or_exit(transport::connect(listener->address(), soon())));
      },
      [&] { return std::make_unique<StreamChannel>(or_exit(listener->accept(soon()))); });
}

/// Takes samples of a figure and of its ceiling in turn.
Row measure(Row row, int runs, const std::function<double()>& figure,
            const std::function<double()>& ceiling) {
  row.bench = "stream";
  (void)figure();  // warms up
  (void)ceiling();
  for (int i = 0; i < runs; ++i) {
    row.samples.add(figure());
    row.ceiling.add(ceiling());
  }
  return row;
}

/// Takes all samples of one and then all of the other, for a ceiling whose other side would take a
/// core from the figure.
Row measure_apart(Row row, int runs, const std::function<double()>& figure,
                  const std::function<Samples()>& ceiling) {
  row.bench = "stream";
  (void)figure();
  for (int i = 0; i < runs; ++i) row.samples.add(figure());
  row.ceiling = ceiling();
  return row;
}

struct Sizes {
  std::vector<std::size_t> round_trips;
  std::vector<std::size_t> streams;
};

Sizes sizes(bool check) {
  if (check) return {{64}, {64 << 10}};
  return {{8, 64, 4 << 10, 64 << 10, 1 << 20}, {4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20}};
}

Row row(const std::string& name, std::size_t bytes, const std::string& unit,
        const std::string& ceiling_name) {
  Row result;
  result.name = name;
  result.bytes = bytes;
  result.unit = unit;
  result.better = unit == "us" ? Better::smaller : Better::larger;
  result.ceiling_name = ceiling_name;
  return result;
}

void measure_sockets(const std::string& transport, const std::string& address,
                     const Options& options, Report& report) {
  const Sizes all = sizes(options.check);
  const std::size_t largest_bytes = all.streams.back();
  const auto ours = converse(address, largest_bytes);
  const auto raw = raw_tcp(largest_bytes);
  for (const std::size_t bytes : all.round_trips) {
    const std::uint64_t rounds = options.check ? 10 : rounds_for(bytes);
    report.add(measure(
        row(transport + " ping-pong", bytes, "us", "raw socket"), options.runs,
        [&] { return ours->ping_pong(bytes, rounds); },
        [&] { return raw->ping_pong(bytes, rounds); }));
  }
  for (const Direction direction : {Direction::to_peer, Direction::from_peer}) {
    for (const std::size_t bytes : all.streams) {
      const std::uint64_t messages = options.check ? 10 : messages_for(bytes);
      const std::string name =
          transport + (direction == Direction::to_peer ? " stream to peer" : " stream from peer");
      report.add(measure(
          row(name, bytes, "GB/s", "raw socket"), options.runs,
          [&] { return ours->stream(bytes, direction, messages); },
          [&] { return raw->stream(bytes, direction, messages); }));
    }
  }
}

void measure_shm(const Options& options, Report& report) {
  const Sizes all = sizes(options.check);
  const std::size_t largest_bytes = all.streams.back();
  const std::string address = "unix:/tmp/ob-bench-" + std::to_string(::getpid());
  const auto ours = converse(address, largest_bytes);
  for (const std::size_t bytes : all.round_trips) {
    const std::uint64_t rounds = options.check ? 10 : rounds_for(bytes);
    report.add(measure_apart(
        row("shm ping-pong", bytes, "us", "polled memory"), options.runs,
        [&] { return ours->ping_pong(bytes, rounds); },
        [&] { return raw_memory_ping_pong(bytes, options.runs, rounds); }));
  }
  for (const Direction direction : {Direction::to_peer, Direction::from_peer}) {
    for (const std::size_t bytes : all.streams) {
      const std::uint64_t messages = options.check ? 10 : messages_for(bytes);
      const char* name =
          direction == Direction::to_peer ? "shm stream to peer" : "shm stream from peer";
      report.add(measure(
          row(name, bytes, "GB/s", "memcpy, one thread"), options.runs,
          [&] { return ours->stream(bytes, direction, messages); },
          [&] { return memcpy_once(bytes, false); }));
    }
  }
}

}  // namespace
}  // namespace ob::bench

int main(int argc, char** argv) {
  using namespace ob::bench;
  const Options options =
      Options::parse_or_exit(argc, argv, "The transports' streams beside raw sockets and memory.");
  Report report;
  measure_sockets("tcp", "127.0.0.1:0", options, report);
  measure_shm(options, report);
  const std::string ucx = "ucx:127.0.0.1:0";
  if (const auto there = ob::transport::listen(ucx); there.ok()) {
    measure_sockets("ucx", ucx, options, report);
  } else {
    std::printf("no row for ucx: %s\n", there.status().message().c_str());
  }
  report.write(options);
  return 0;
}
