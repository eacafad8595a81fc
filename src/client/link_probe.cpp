#include "client/link_probe.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

namespace ob::client {
namespace {

constexpr std::uint64_t kProbeBytes = 4 << 20;  // large enough to leave the socket buffers behind
constexpr int kPings = 5;

double seconds_since(transport::Clock::time_point start) {
  return std::chrono::duration<double>(transport::Clock::now() - start).count();
}

}  // namespace

Result<Link> measure_link(RemoteDevice& device, QueueId queue) {
  Link link;
  link.round_trip_s = 1;
  for (int i = 0; i < kPings; ++i) {
    OB_ASSIGN_OR_RETURN(const std::uint64_t ns, device.connection().ping());
    link.round_trip_s = std::min(link.round_trip_s, static_cast<double>(ns) * 1e-9);
  }
  OB_ASSIGN_OR_RETURN(const BufferId buffer, device.allocate(kProbeBytes));
  const std::unique_ptr<std::byte[]> host(new (std::nothrow) std::byte[kProbeBytes]);
  if (!host) return Status(Code::out_of_memory, "no memory to measure the connection with");
  std::memset(host.get(), 0, kProbeBytes);
  const Region region{0, 1, Triangle::full, kProbeBytes, 1, kProbeBytes};
  const Layout layout = Layout::bytes(host.get(), kProbeBytes);
  double to_s = 1e30;
  double from_s = 1e30;
  for (int i = 0; i < 3; ++i) {  // the first round touches the memory
    auto start = transport::Clock::now();
    OB_RETURN_IF_ERROR(device.write(queue, buffer, region, layout));
    OB_RETURN_IF_ERROR(device.synchronize(queue).status);
    to_s = std::min(to_s, seconds_since(start));
    start = transport::Clock::now();
    OB_RETURN_IF_ERROR(device.read(queue, buffer, region, layout));
    OB_RETURN_IF_ERROR(device.synchronize(queue).status);
    from_s = std::min(from_s, seconds_since(start));
  }
  OB_RETURN_IF_ERROR(device.free(buffer));
  link.to_bytes_per_s = static_cast<double>(kProbeBytes) / to_s;
  link.from_bytes_per_s = static_cast<double>(kProbeBytes) / from_s;
  return link;
}

}  // namespace ob::client
