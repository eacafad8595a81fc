#pragma once
// The requests that a cpu device sends to its executors. Bodies of calls and plans are those of the
// wire (routines/codec.hpp); the ids of buffers name mapped segments.

#include <cstddef>
#include <cstdint>

#include "base/ids.hpp"

namespace ob::cpu {

enum class Request : std::uint32_t {
  map = 1,  ///< u64 id, u64 size [bytes]; with the descriptor of the segment
  call,     ///< a call
  plan,     ///< an id and a plan; also on kPlanLane
  execute,  ///< u64 plan, then input and output: u64 segment, u64 offset [bytes]
};

/// The lane of all requests but those on kPlanLane.
inline constexpr std::size_t kCallLane = 0;
/// The lane of plans that are made before they are needed. The answer is busy while the other lane
/// makes a plan.
inline constexpr std::size_t kPlanLane = 1;

/// Notices on kCallLane: the id of a segment to unmap, or of a plan to destroy.
inline constexpr std::uint64_t kPlanNotice = std::uint64_t{1} << 63;

}  // namespace ob::cpu
