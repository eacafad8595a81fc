#include "transport/detail/spin.hpp"

#include "base/contract.hpp"
#include "base/machine.hpp"

namespace ob::transport::detail {
namespace {

constexpr long kShortestNs = 1000;  // the wake-up that polling saves costs about twice that
// A failed trial costs the longest time once in this many waits: half a microsecond per wait.
constexpr unsigned kWaitsPerTry = 64;

}  // namespace

Spin::Spin(std::chrono::nanoseconds longest) noexcept
    : longest_ns_(longest.count() == 0 || usable_cores() < 2 ? 0L
                                                             : static_cast<long>(longest.count())),
      budget_ns_(longest_ns_) {
  OB_EXPECT(longest.count() >= 0);
}

long Spin::next_budget_ns() noexcept {
  const long budget = budget_ns_.load(std::memory_order_relaxed);
  if (budget != 0 || longest_ns_ == 0) return budget;
  const unsigned waits = waits_without_.fetch_add(1, std::memory_order_relaxed);
  return waits % kWaitsPerTry == kWaitsPerTry - 1 ? longest_ns_ : 0;
}

void Spin::learn_failure(long spent_ns) noexcept {
  // A failed trial changes nothing else: its time was not the current budget.
  const long half = budget_ns_.load(std::memory_order_relaxed) == 0 ? 0 : spent_ns / 2;
  budget_ns_.store(half < kShortestNs ? 0 : half, std::memory_order_relaxed);
}

}  // namespace ob::transport::detail
