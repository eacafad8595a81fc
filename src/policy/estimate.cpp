#include "policy/estimate.hpp"

namespace ob::policy {
namespace {

// The error of a sum of two times is between those of its parts.
double error_of(const PredictedTime& time, double compute_error, double link_error) noexcept {
  const double link_s = time.fixed_s + time.to_s + time.from_s;
  const double sum_s = link_s + time.compute_s;
  if (!(sum_s > 0)) return 1;
  return (link_s * link_error + time.compute_s * compute_error) / sum_s;
}

}  // namespace

void estimate_local(const RoutineRates& rates, const Work& work, const Rate& shipped,
                    double most_flop_per_s, Estimate& estimate) noexcept {
  const Rate rate = rates.local.at(work.flop / work.calls, shipped);
  estimate.local_s = rate.flop_per_s > 0 ? work.flop / rate.flop_per_s : 0;
  estimate.local_error = rate.error;
  estimate.local_least_s = most_flop_per_s > 0 ? work.flop / most_flop_per_s : 0;
}

Rate predicted_rate(const Work& work, double predicted_s, double error) noexcept {
  return {predicted_s > 0 ? work.flop / predicted_s : 0, error};
}

void estimate_remote(const RoutineRates& rates, const Work& work, const Accelerator& accelerator,
                     double bytes_on_device, double bytes_again, double waiting_s,
                     CallEstimate& found) noexcept {
  const Rate rate = rates.remote.at(work.flop / work.calls, accelerator.shipped);
  Remote remote{.link = accelerator.link,
                .flop_per_s = rate.flop_per_s,
                .bytes_on_device = bytes_on_device,
                .fresh_bytes = accelerator.fresh_bytes,
                .waiting_s = waiting_s};
  found.now = predict(work, remote);
  const double error = error_of(found.now, rate.error, accelerator.link_error);
  const Rate model = predicted_rate(work, found.now.whole_s - waiting_s, error);
  const Rate whole = rates.whole.at(work.flop, model);
  if (whole.flop_per_s > 0) remote.correction = model.flop_per_s / whole.flop_per_s;
  found.correction = remote.correction;
  found.now = predict(work, remote);
  remote.fresh_bytes = 0;
  found.estimate.remote_warm_s = predict(work, remote).whole_s;
  remote.bytes_on_device = work.may_stay ? bytes_again : 0;
  found.again = predict(work, remote);
  found.estimate.shape = work.shape;
  found.estimate.operands = work.operands;
  found.estimate.remote_s = found.now.whole_s;
  found.estimate.remote_again_s = found.again.whole_s;
  found.estimate.remote_error = whole.error;
  found.estimate.waiting_s = waiting_s;
}

}  // namespace ob::policy
