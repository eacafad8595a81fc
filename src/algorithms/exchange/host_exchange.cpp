#include "algorithms/exchange/host_exchange.hpp"

#include <utility>

namespace ob::algorithms {
namespace {

Layout staged_block(std::byte* memory, const Region& region, const Region& block) {
  const std::uint64_t column_bytes = region.rows * region.element_bytes;
  const std::uint64_t column =
      (block.offset_bytes - region.offset_bytes) / (region.ld * region.element_bytes);
  return Layout::bytes(memory + column * column_bytes, block.cols * column_bytes);
}

}  // namespace

Result<std::unique_ptr<HostExchange>> HostExchange::create(std::span<Device* const> devices,
                                                           const ExchangeModel& model) {
  OB_ASSIGN_OR_RETURN(std::vector<DeviceQueues> device_queues, open_all(devices));
  return std::unique_ptr<HostExchange>(new HostExchange(std::move(device_queues), model));
}

HostExchange::HostExchange(std::vector<DeviceQueues> device_queues, const ExchangeModel& model)
    : PanelExchange(std::move(device_queues)), model_(model), posted_(size()), in_use_(size()) {
  model_.route = Route::relay;
}

Status HostExchange::post_broadcast(Rank rank, MessageTag tag, const PanelMessage& message,
                                    std::span<const Rank> receivers) {
  OB_RETURN_IF_ERROR(queues(rank).order(compute(rank), queues(rank).out()));
  if (receivers.empty()) return {};
  auto staged = std::make_shared<Staged>();
  staged->message = message;
  staged->receivers_left = receivers.size();
  for (const Region& region : message.regions) {
    staged->memory.emplace_back(packed_bytes(region));
    if (staged->memory.back().data() == nullptr) {
      return {Code::out_of_memory, "no memory for " + std::to_string(packed_bytes(region)) +
                                       " bytes that go from one device to others"};
    }
  }
  posted_[rank.value()] = staged;
  const std::lock_guard lock(mutex_);
  staged_[tag] = std::move(staged);
  changed_.notify_all();
  return {};
}

Status HostExchange::complete(Rank rank) {
  const std::shared_ptr<Staged> staged = std::exchange(posted_[rank.value()], nullptr);
  if (staged == nullptr) return {};  // it has no receivers
  const DeviceQueues& here = queues(rank);
  for (std::size_t r = 0; r < staged->message.regions.size(); ++r) {
    const Region& region = staged->message.regions[r];
    for (const Region& block : blocks_of(region, static_cast<std::uint64_t>(model_.block_bytes))) {
      const Layout here_now = staged_block(staged->memory[r].data(), region, block);
      OB_RETURN_IF_ERROR(here.device().read(here.out(), staged->message.buffer, block, here_now));
      OB_RETURN_IF_ERROR(here.device().synchronize(here.out()).status);
      const std::lock_guard lock(mutex_);
      ++staged->blocks_here;
      changed_.notify_all();
    }
  }
  return {};
}

Status HostExchange::wait_for(MessageTag tag, std::shared_ptr<Staged>& staged) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !aborted_.ok() || staged_.count(tag) != 0; });
  if (!aborted_.ok()) return aborted_;
  const auto found = staged_.find(tag);
  staged = found->second;
  if (--staged->receivers_left == 0) staged_.erase(found);
  return {};
}

Status HostExchange::wait_for_block(const Staged& staged, std::size_t block) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !aborted_.ok() || staged.blocks_here > block; });
  return aborted_;
}

Status HostExchange::receive(Rank rank, MessageTag tag, const PanelMessage& message,
                             std::size_t slot) {
  std::shared_ptr<Staged> staged;
  OB_RETURN_IF_ERROR(wait_for(tag, staged));
  DeviceQueues& here = queues(rank);
  // The message before has arrived; its memory in this process is freed.
  OB_RETURN_IF_ERROR(here.device().synchronize(here.in()).status);
  in_use_[rank.value()].clear();
  in_use_[rank.value()].push_back(staged);
  OB_RETURN_IF_ERROR(here.wait_slot(slot));
  std::size_t number = 0;
  for (std::size_t r = 0; r < message.regions.size(); ++r) {
    const Region& region = message.regions[r];
    for (const Region& block : blocks_of(region, static_cast<std::uint64_t>(model_.block_bytes))) {
      OB_RETURN_IF_ERROR(wait_for_block(*staged, number++));
      const Layout source = staged_block(staged->memory[r].data(), region, block);
      OB_RETURN_IF_ERROR(here.device().write(here.in(), message.buffer, block, source));
      account(rank).received += source.total_bytes();
    }
  }
  return here.order(here.in(), here.compute());
}

void HostExchange::abort(const Status& why) {
  const std::lock_guard lock(mutex_);
  if (aborted_.ok()) aborted_ = why;
  changed_.notify_all();
}

Status HostExchange::finish(Rank rank) {
  const Status status = PanelExchange::finish(rank);
  in_use_[rank.value()].clear();
  return status;
}

}  // namespace ob::algorithms
