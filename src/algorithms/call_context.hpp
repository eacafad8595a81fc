#pragma once
// The parameters that all algorithms for a call on one device have in common.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "algorithms/call_timings.hpp"
#include "algorithms/residency/placed_operand.hpp"
#include "algorithms/residency/residency.hpp"
#include "algorithms/tiles/commit_gate.hpp"
#include "device/device.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// Returns the position of an argument; kinds.size() if the routine has no such argument.
std::size_t argument_position(const Descriptor& routine, std::string_view name);

/// A matrix of a call, in host memory and on a device.
/// @pre argument_position(routine, name) < routine.kinds.size()
PlacedOperand placed_by_name(const Descriptor& routine, const Argument* arguments,
                             std::string_view name);

/// One call of a program and the device that runs it.
/// Memory:  owns nothing; everything it refers to outlives the call      Threads: owner only
struct CallContext {
  Device& device;
  QueueId queue;
  const Descriptor& routine;
  const Argument* arguments;       ///< Argument::host holds the operands
  CallTimings& timings;            ///< receives the timings of the call
  Residency* residency = nullptr;  ///< nullptr: no operand stays on the device
  Commits* commits = nullptr;      ///< nullptr: the call is not a part of another one

  /// @pre the routine has an argument of that name, as for the functions below
  const Argument& argument(std::string_view name) const;
  bool is(std::string_view flag, char value) const { return argument(flag).flag == value; }
  std::uint64_t dim(std::string_view name) const {
    return static_cast<std::uint64_t>(argument(name).dim);
  }
  PlacedOperand placed(std::string_view matrix) const;
};

}  // namespace ob::algorithms
