#include "algorithms/exchange/panel_exchange.hpp"

#include <algorithm>

namespace ob::algorithms {

Result<std::vector<DeviceQueues>> PanelExchange::open_all(std::span<Device* const> devices) {
  std::vector<DeviceQueues> device_queues;
  device_queues.reserve(devices.size());
  for (Device* device : devices) {
    OB_ASSIGN_OR_RETURN(DeviceQueues queues, DeviceQueues::open(*device));
    device_queues.push_back(std::move(queues));
  }
  return device_queues;
}

Status PanelExchange::send(Rank rank, const Layout& source, BufferId buffer, const Region& region) {
  DeviceQueues& here = device_queues_[rank.value()];
  account(rank).sent += source.total_bytes();
  OB_RETURN_IF_ERROR(here.device().write(here.in(), buffer, region, source));
  return here.order(here.in(), here.compute());
}

Status PanelExchange::fetch(Rank rank, BufferId buffer, const Region& region,
                            const Layout& destination) {
  DeviceQueues& here = device_queues_[rank.value()];
  account(rank).fetched += destination.total_bytes();
  OB_RETURN_IF_ERROR(here.order(here.compute(), here.back()));
  return here.device().read(here.back(), buffer, region, destination);
}

Status PanelExchange::read_posted(Rank rank, BufferId buffer, const Region& region,
                                  const Layout& destination) {
  // post_broadcast() has ordered this queue behind the commands that compute the message.
  DeviceQueues& here = device_queues_[rank.value()];
  account(rank).fetched += destination.total_bytes();
  OB_RETURN_IF_ERROR(here.device().read(here.out(), buffer, region, destination));
  return here.device().synchronize(here.out()).status;
}

std::vector<Region> blocks_of(const Region& region, std::uint64_t block_bytes) {
  const std::uint64_t column_bytes = region.rows * region.element_bytes;
  const std::uint64_t cols =
      std::max<std::uint64_t>(1, block_bytes / std::max<std::uint64_t>(1, column_bytes));
  std::vector<Region> blocks;
  for (std::uint64_t first = 0; first < region.cols; first += cols) {
    Region block = region;
    block.cols = std::min(cols, region.cols - first);
    block.offset_bytes += first * region.ld * region.element_bytes;
    blocks.push_back(block);
  }
  return blocks;
}

}  // namespace ob::algorithms
