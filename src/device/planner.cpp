#include "device/planner.hpp"

#include <algorithm>
#include <string>

#include "device/host_call.hpp"

namespace ob {
namespace {

// A client that asks for plans faster than they can be made gets an error: each waiting plan takes
// 1 KiB of host memory.
constexpr unsigned kMaxWaiting = 4096;

}  // namespace

Status Planner::check(const FftPlan& plan) const {
  OB_RETURN_IF_ERROR(check_plan(plan));
  const std::uint64_t data_bytes = std::max(input_bytes(plan), output_bytes(plan));
  if (data_bytes <= memory_bytes_) return {};
  return {Code::out_of_memory, "a transform of " + std::to_string(data_bytes) +
                                   " bytes cannot be planned (the device has " +
                                   std::to_string(memory_bytes_) +
                                   "); cut the problem, or raise --device-memory"};
}

Status Planner::admit() {
  if (++waiting_ <= kMaxWaiting) return {};
  --waiting_;
  return {Code::out_of_memory,
          std::to_string(kMaxWaiting) + " plans are waiting to be made; try again later"};
}

}  // namespace ob
