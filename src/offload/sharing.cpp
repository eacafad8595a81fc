#include "offload/sharing.hpp"

#include <algorithm>

namespace ob::offload {
namespace {

using policy::Target;

// Parts are in eighths, so that operands which stay on the device are cut in the same way again.
// Shorter calls lose more time to the second thread than they gain. The faster part waits a little
// for the other one.
constexpr double kWorthSharingS = 2e-3;
constexpr int kShares = 8;
constexpr double kLeastShare = 0.125;
constexpr double kSharingLoss = 1.1;
constexpr double kSharingError = 1.05;

}  // namespace

double choose_share(const Config& config, RoutineRecord& record, const policy::Work& work,
                    const policy::Decision& alone) noexcept {
  if (config.share) return *config.share;
  if (!alone.local_seen || !alone.remote_seen) return 0;
  const double better_s = std::min(alone.local_s, alone.remote_s);
  if (better_s < kWorthSharingS) return 0;
  // Both end together with this part, if each part takes its share of the whole time.
  const double part = alone.local_s / (alone.local_s + alone.remote_s);
  const double share = static_cast<double>(static_cast<int>(part * kShares + 0.5)) / kShares;
  if (share < kLeastShare || share > 1 - kLeastShare) return 0;
  const double slower_s = std::max(alone.remote_s * share, alone.local_s * (1 - share));
  policy::Estimate estimate;
  estimate.shape = work.shape;
  estimate.operands = work.operands;
  estimate.local_s = better_s;
  estimate.remote_s = estimate.remote_again_s = kSharingLoss * slower_s;
  estimate.remote_error = kSharingError;
  return record.sharing.decide(estimate).target == Target::remote ? share : 0;
}

void observe_share(RoutineRecord& record, const policy::Work& work, bool shared,
                   double seconds) noexcept {
  (void)record.sharing.observe(work.shape, shared ? Target::remote : Target::local, seconds, 0);
}

}  // namespace ob::offload
