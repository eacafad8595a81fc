#include "client/link_probe.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#include "client/best_times.hpp"

namespace ob::client {
namespace {

// The sizes of the measured transfers, in steps of four.
struct Plan {
  std::uint64_t least_bytes;
  std::uint64_t most_bytes;
  int least_rounds;     // of each size
  int most_rounds;      // if the two best ones do not agree
  double long_round_s;  // a size that takes longer ends the measurement
};
// The quick one is short, because the first calls of a program wait for it. A disturbed round is
// easily a hundred times too long, and the link keeps its figures as long as the process, so busy
// machines get more rounds.
constexpr Plan kQuick{16 << 10, 1 << 20, 2, 10, 2e-3};
constexpr Plan kThorough{4 << 10, 64 << 20, 5, 10, 0.5};
constexpr int kPings = 5;
// Fresh memory is measured in this many buffers of at most this size.
constexpr double kFreshBytes = 1 << 20;
constexpr std::size_t kFreshBuffers = 3;
// The rounds of one size take at most this many long rounds.
constexpr double kMaxLongRounds = 5;

double seconds_since(transport::Clock::time_point start) {
  return std::chrono::duration<double>(transport::Clock::now() - start).count();
}

// The ends of a measured transfer.
struct Ends {
  RemoteDevice& device;
  QueueId queue;
  BufferId buffer;
  std::byte* host;
};

struct Times {
  BestTimes to, from;

  bool agree() const noexcept { return to.agree() && from.agree(); }
};

// Sends and fetches size_bytes once.
Status measure_round(const Ends& ends, std::uint64_t size_bytes, Times& times) {
  const auto& [device, queue, buffer, host] = ends;
  const Region region{0, 1, Triangle::full, size_bytes, 1, size_bytes, 1};
  const Layout layout = Layout::bytes(host, size_bytes);
  const auto start = transport::Clock::now();
  OB_RETURN_IF_ERROR(device.write(queue, buffer, region, layout));
  OB_RETURN_IF_ERROR(device.synchronize(queue).status);
  times.to.add(seconds_since(start));
  const auto middle = transport::Clock::now();
  OB_RETURN_IF_ERROR(device.read(queue, buffer, region, layout));
  OB_RETURN_IF_ERROR(device.synchronize(queue).status);
  times.from.add(seconds_since(middle));
  return {};
}

// Starts with small transfers and stops when they take long: the program must not wait for a slow
// link.
Status measure_transfers(RemoteDevice& device, QueueId queue, BufferId buffer, const Plan& plan,
                         Link& link) {
  const std::unique_ptr<std::byte[]> host(new (std::nothrow) std::byte[plan.most_bytes]);
  if (!host) return Status(Code::out_of_memory, "no memory to measure the connection with");
  std::memset(host.get(), 0, plan.most_bytes);
  for (std::uint64_t size = plan.least_bytes; size <= plan.most_bytes; size *= 4) {
    Times times;  // the best round counts: the first touches memory
    const auto start = transport::Clock::now();
    for (int i = 0; i < plan.most_rounds; ++i) {
      if (i >= plan.least_rounds && times.agree()) break;
      OB_RETURN_IF_ERROR(measure_round({device, queue, buffer, host.get()}, size, times));
      if (seconds_since(start) > kMaxLongRounds * plan.long_round_s) break;
    }
    const double to_s = times.to.best();
    const double from_s = times.from.best();
    const auto bytes = static_cast<double>(size);
    link.to_bytes_per_s = bytes / to_s;
    link.from_bytes_per_s = bytes / from_s;
    // The ping measured the round trip separately. At least a tenth of the transfer time remains.
    link.to.add(bytes, std::max(to_s - link.round_trip_s, 0.1 * to_s));
    link.from.add(bytes, std::max(from_s - link.round_trip_s, 0.1 * from_s));
    if (to_s + from_s > plan.long_round_s) break;
  }
  return {};
}

// Sends to buffers that are new on the device, and compares that with the time for used ones.
Status measure_fresh(RemoteDevice& device, QueueId queue, Link& link) {
  const double bytes = std::min(link.to.samples().back().bytes, kFreshBytes);
  const auto size = static_cast<std::uint64_t>(bytes);
  const std::unique_ptr<std::byte[]> host(new (std::nothrow) std::byte[size]);
  if (!host) return Status(Code::out_of_memory, "no memory to measure the connection with");
  std::memset(host.get(), 0, size);
  std::vector<BufferId> buffers;  // kept until the end: a freed one would not be new again
  Times times;
  Status status;
  while (status.ok() && buffers.size() < kFreshBuffers) {
    const auto buffer = device.allocate(size);
    status = buffer.status();
    if (!buffer.ok()) break;
    buffers.push_back(*buffer);
    status = measure_round({device, queue, *buffer, host.get()}, size, times);
  }
  for (const BufferId buffer : buffers) (void)device.free(buffer);
  const double used_s = link.round_trip_s + link.to.seconds(bytes);
  if (status.ok()) link.fresh_s_per_byte = std::max(0.0, times.to.best() - used_s) / bytes;
  return status;
}

}  // namespace

Result<Link> measure_link(RemoteDevice& device, QueueId queue, Thoroughness how) {
  Link link;
  link.round_trip_s = 1;
  for (int i = 0; i < kPings; ++i) {
    const auto ns = device.connection().ping();
    if (!ns.ok()) {
      device.abandon();
      return ns.status();
    }
    link.round_trip_s = std::min(link.round_trip_s, static_cast<double>(*ns) * 1e-9);
  }
  // A device with little memory is measured with small transfers. Without memory for them its link
  // stays unknown: calls may still fit.
  Plan plan = how == Thoroughness::thorough ? kThorough : kQuick;
  plan.most_bytes = std::min(plan.most_bytes, device.info().memory_bytes / 4);
  if (plan.most_bytes < plan.least_bytes) return link;
  const auto buffer = device.allocate(plan.most_bytes);
  Status status = buffer.status();
  if (buffer.ok()) {
    status = measure_transfers(device, queue, *buffer, plan, link);
    if (status.ok() && link.to.known()) status = measure_fresh(device, queue, link);
    (void)device.free(*buffer);
  }
  if (!status.ok() && status.code() != Code::out_of_memory) return status;
  return link;
}

}  // namespace ob::client
