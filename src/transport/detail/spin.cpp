#include "transport/detail/spin.hpp"

#include <sched.h>

#include <algorithm>

namespace ob::transport::detail {
namespace {

constexpr long kShortest_ns = 1000;  // long enough to notice that polling pays off again

}  // namespace

int usable_cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 2;  // more cores than the set holds
  return CPU_COUNT(&set);
}

Spin::Spin(std::chrono::nanoseconds longest) noexcept
    : longest_ns_(longest.count() == 0 || usable_cores() < 2 ? 0L : static_cast<long>(longest.count())),
      budget_ns_(longest_ns_) {}

void Spin::learn(bool paid_off) noexcept {
  const long budget = budget_ns_.load(std::memory_order_relaxed);
  const long next = paid_off ? std::min(2 * budget, longest_ns_)
                             : std::max(budget / 2, std::min(kShortest_ns, longest_ns_));
  if (next != budget) budget_ns_.store(next, std::memory_order_relaxed);
}

}  // namespace ob::transport::detail
