#pragma once
// How many devices a call is worth, and what part of it each gets.

#include <cstddef>
#include <span>
#include <vector>

#include "algorithms/panels/pipeline_model.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::offload {

/// A device that could be used, as it is alone.
struct Candidate {
  algorithms::PipelineModel model;
  std::size_t server = 0;          ///< devices of one server share its link
  std::uint64_t memory_bytes = 0;  ///< 0: enough
};

/// The weights of parts for all of them: the reciprocals of what each would take alone.
/// @pre algorithms::can_be_split(routine), as below; at least one candidate
std::vector<double> shares_of_all(const Descriptor& routine, const Argument* arguments,
                                  std::span<const Candidate> candidates);

/// Seconds of the call on so many devices, with the weights that they get; their number where rates
/// are not known.   Cost: microseconds
double predict_shares(const Descriptor& routine, const Argument* arguments,
                      std::span<const Candidate> devices);

/// The least number of devices that is predicted to take at most 5 % longer than any other.
/// @param seconds of 1, 2, 3 ...
std::size_t choose_number(std::span<const double> seconds);

}  // namespace ob::offload
