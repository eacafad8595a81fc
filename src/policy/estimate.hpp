#pragma once
// The prediction of both times of a call.

#include "policy/history.hpp"
#include "policy/model.hpp"
#include "policy/rate_model.hpp"

namespace ob::policy {

/// The measurements of one routine.   Threads: any
struct RoutineRates {
  /// The caller's own library. A machine with other work makes single runs slow, the library does
  /// not: three in a row are believed.
  RateModel local{3};
  RateModel remote{1};  ///< the device
  /// Whole remote calls. What "ships" is the model's prediction. The first calls of a size touch
  /// memory and make plans.
  RateModel whole{2};
};

/// A device and the way to it, as far as they are known before a call of the routine was measured.
struct Accelerator {
  const Link& link;
  double link_error = 1;
  Rate shipped;            ///< for this routine
  double fresh_bytes = 0;  ///< the part of the call's memory that was never used before
};

/// The predicted times of a call.
struct CallEstimate {
  Estimate estimate;
  PredictedTime now;      ///< with the operands that are expected to be on the device
  PredictedTime again;    ///< once the operands that come again are on the device
  double correction = 1;  ///< factor for the model, from the times of whole calls
};

/// Predicts the local time.   @param shipped the rate of the caller's library
/// @param most_flop_per_s the rate that no call exceeds; 0: unknown
void estimate_local(const RoutineRates& rates, const Work& work, const Rate& shipped,
                    double most_flop_per_s, Estimate& estimate) noexcept;

/// The rate of a whole call as the model predicts it, for RoutineRates::whole.
Rate predicted_rate(const Work& work, double predicted_s, double error) noexcept;

/// Predicts the time of a remote call.
/// @param bytes_on_device the part of work.bytes_to that is expected there already
/// @param bytes_again the part that is expected there once the call was made
void estimate_remote(const RoutineRates& rates, const Work& work, const Accelerator& accelerator,
                     double bytes_on_device, double bytes_again, double waiting_s,
                     CallEstimate& found) noexcept;

}  // namespace ob::policy
