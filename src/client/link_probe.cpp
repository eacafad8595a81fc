#include "client/link_probe.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

namespace ob::client {
namespace {

constexpr std::uint64_t kProbeBytes = 4 << 20;  // large enough to leave the socket buffers behind
constexpr std::uint64_t kSmallestProbeBytes = 64 << 10;
constexpr double kLongRoundS = 10e-3;
constexpr int kPings = 5;

double seconds_since(transport::Clock::time_point start) {
  return std::chrono::duration<double>(transport::Clock::now() - start).count();
}

// Sends and fetches size_bytes once.
Status measure_round(RemoteDevice& device, QueueId queue, BufferId buffer, std::byte* host,
                     std::uint64_t size_bytes, double& to_s, double& from_s) {
  const Region region{0, 1, Triangle::full, size_bytes, 1, size_bytes, 1};
  const Layout layout = Layout::bytes(host, size_bytes);
  const auto start = transport::Clock::now();
  OB_RETURN_IF_ERROR(device.write(queue, buffer, region, layout));
  OB_RETURN_IF_ERROR(device.synchronize(queue).status);
  to_s = std::min(to_s, seconds_since(start));
  const auto middle = transport::Clock::now();
  OB_RETURN_IF_ERROR(device.read(queue, buffer, region, layout));
  OB_RETURN_IF_ERROR(device.synchronize(queue).status);
  from_s = std::min(from_s, seconds_since(middle));
  return {};
}

// From small transfers up, as long as they are quick: a slow link must not hold the program up.
Status measure_bandwidth(RemoteDevice& device, QueueId queue, BufferId buffer,
                         std::uint64_t largest_bytes, Link& link) {
  const std::unique_ptr<std::byte[]> host(new (std::nothrow) std::byte[largest_bytes]);
  if (!host) return Status(Code::out_of_memory, "no memory to measure the connection with");
  std::memset(host.get(), 0, largest_bytes);
  for (std::uint64_t size = kSmallestProbeBytes; size <= largest_bytes; size *= 4) {
    double to_s = 1e30;
    double from_s = 1e30;
    for (int i = 0; i < 3; ++i) {  // the best of three: the first touches the memory
      OB_RETURN_IF_ERROR(measure_round(device, queue, buffer, host.get(), size, to_s, from_s));
      if (to_s + from_s > kLongRoundS) break;
    }
    link.to_bytes_per_s = static_cast<double>(size) / to_s;
    link.from_bytes_per_s = static_cast<double>(size) / from_s;
    if (to_s + from_s > kLongRoundS) break;
  }
  return {};
}

}  // namespace

Result<Link> measure_link(RemoteDevice& device, QueueId queue) {
  Link link;
  link.round_trip_s = 1;
  for (int i = 0; i < kPings; ++i) {
    OB_ASSIGN_OR_RETURN(const std::uint64_t ns, device.connection().ping());
    link.round_trip_s = std::min(link.round_trip_s, static_cast<double>(ns) * 1e-9);
  }
  // A small or crowded device is measured with what it has, or counts as unknown: calls may still
  // fit.
  const std::uint64_t size_bytes = std::min(kProbeBytes, device.info().memory_bytes / 4);
  if (size_bytes < kSmallestProbeBytes) return link;
  const auto buffer = device.allocate(size_bytes);
  Status status = buffer.status();
  if (buffer.ok()) {
    status = measure_bandwidth(device, queue, *buffer, size_bytes, link);
    (void)device.free(*buffer);
  }
  if (!status.ok() && status.code() != Code::out_of_memory) return status;
  return link;
}

}  // namespace ob::client
