#include "sial/worker/counts.hpp"

namespace ob::sial {
namespace {

// Calls `visit` with each counter, in one order.
template <class Counts, class Visit>
void for_each_counter(Counts& counts, Visit visit) {
  for (auto& get : counts.gets) {
    visit(get.requests), visit(get.ahead), visit(get.late), visit(get.unused);
    visit(get.evicted), visit(get.accesses), visit(get.waits), visit(get.first_uses);
    visit(get.first_waits), visit(get.bytes), visit(get.depth);
    visit(get.demand_ns), visit(get.late_ns), visit(get.first_ns);
  }
  for (auto& one : counts.instructions) {
    visit(one.count), visit(one.ns), visit(one.wait_ns), visit(one.on_device);
  }
  for (auto& one : counts.memory) {
    visit(one.block_bytes), visit(one.fetched_bytes), visit(one.put_bytes);
  }
  visit(counts.run_ns), visit(counts.credit_waits), visit(counts.device.to_device_bytes);
  visit(counts.device.to_host_bytes), visit(counts.device.evicted), visit(counts.device.permuted);
}

}  // namespace

std::vector<double> to_numbers(const WorkerCounts& counts) {
  std::vector<double> numbers;
  for_each_counter(counts, [&](auto counter) { numbers.push_back(static_cast<double>(counter)); });
  return numbers;
}

void from_numbers(const std::vector<double>& numbers, WorkerCounts& counts) noexcept {
  std::size_t next = 0;
  for_each_counter(counts, [&](auto& counter) {
    counter = static_cast<std::remove_reference_t<decltype(counter)>>(numbers[next++]);
  });
}

}  // namespace ob::sial
