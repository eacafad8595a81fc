#pragma once
// How many devices a call is worth, and what part of it each gets.

#include <cstddef>
#include <span>
#include <vector>

#include "algorithms/pipeline_model.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::interpose {

/// A device that could be used, as it is alone.
struct Candidate {
  algorithms::PipelineModel model;
  std::size_t server = 0;          ///< devices of one server share its link
  std::uint64_t memory_bytes = 0;  ///< 0: enough
};

/// The weights of the first so many candidates; one: the first does it all. The fewest that are
/// predicted to take at most 5 % longer than any other number of them.
/// Cost: microseconds
/// @pre algorithms::can_be_split(routine); at least one candidate
std::vector<double> choose_shares(const Descriptor& routine, const Argument* arguments,
                                  std::span<const Candidate> candidates);

/// The weights of all of them, gain or no gain.
std::vector<double> shares_of_all(const Descriptor& routine, const Argument* arguments,
                                  std::span<const Candidate> candidates);

/// Seconds of the call on so many devices, with the weights that they get.
double predict_shares(const Descriptor& routine, const Argument* arguments,
                      std::span<const Candidate> devices);

}  // namespace ob::interpose
