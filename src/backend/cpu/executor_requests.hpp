#pragma once
// The requests that a cpu device sends to its executors. Bodies of calls and plans are those of the
// wire (routines/codec.hpp); the ids of buffers name mapped segments.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/ids.hpp"

namespace ob::cpu {

enum class Request : std::uint32_t {
  map = 1,  ///< u64 id, u64 size [bytes]; with the descriptor of the segment
  call,     ///< a call
  plan,     ///< an id and a plan; also on kPlanLane
  execute,  ///< u64 plan, then input and output: u64 segment, u64 offset [bytes]
};

/// The requests to a process that runs kernels. The ids of modules and buffers are the daemon's for
/// this process.
enum class KernelRequest : std::uint32_t {
  map = 1,  ///< as Request::map
  load,     ///< u64 size [bytes]; with the descriptor of a ModuleFile
  launch,   ///< a launch (wire::Launch)
  /// Several launches, each behind its u32 size [bytes]. They run one after another until one
  /// fails, or the request has taken long enough. The parts that are done are told.
  launches,
};
/// The argument of the program that makes it run kernels.
inline constexpr std::string_view kKernelArgument = "kernels";

/// A memory file by which a module and its report travel: the header, then the payload. First the
/// daemon writes both for load_module, then the executor those of the answer.
struct ModuleFile {
  std::uint64_t body_bytes = 0;  ///< of wire::LoadModule; 0 in an answer
  std::uint64_t payload_bytes = 0;
  std::uint64_t kernels = 0;    ///< of an answer
  std::uint64_t log_bytes = 0;  ///< of an answer
};

/// The lane of all requests but those on kPlanLane.
inline constexpr std::size_t kCallLane = 0;
/// The lane of plans that are made before they are needed. The answer is busy while the other lane
/// makes a plan.
inline constexpr std::size_t kPlanLane = 1;

/// Notices on kCallLane: the id of a segment to unmap, or of a plan to destroy (of a module, in a
/// process that runs kernels).
inline constexpr std::uint64_t kPlanNotice = std::uint64_t{1} << 63;

}  // namespace ob::cpu
