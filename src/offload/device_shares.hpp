#pragma once
// Chooses the number of devices for a call, and the part of the call for each.

#include <cstddef>
#include <span>
#include <vector>

#include "algorithms/panels/pipeline_model.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::offload {

/// A device that could be used, with the model of the device alone.
struct Candidate {
  algorithms::PipelineModel model;
  std::size_t server = 0;          ///< devices of one server share its link
  std::uint64_t memory_bytes = 0;  ///< 0: enough
};

/// The weights of the parts for all devices. A weight is the reciprocal of the time that the device
/// would take alone.
/// @pre algorithms::can_be_split(routine), as below; at least one candidate
std::vector<double> shares_of_all(const Descriptor& routine, const Argument* arguments,
                                  std::span<const Candidate> candidates);

/// Predicts the seconds of the call on these devices, with their weights. If rates are not known,
/// the result is the number of devices.   Cost: microseconds
double predict_shares(const Descriptor& routine, const Argument* arguments,
                      std::span<const Candidate> devices);

/// The least number of devices that is predicted to take at most 5 % longer than any other.
/// @param seconds predicted times of 1, 2, 3 ... devices
std::size_t choose_number(std::span<const double> seconds);

}  // namespace ob::offload
