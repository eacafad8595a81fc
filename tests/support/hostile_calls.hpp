#pragma once
// Calls and transforms of a client that wants to harm the device or its other clients. Each is a
// legal call of a random row of the table with damages that have names.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "routines/descriptor.hpp"
#include "routines/fft.hpp"

namespace ob::test {

/// The buffers of a hostile session, and ids that it must not use.
struct HostileBuffers {
  /// A size class of the client, so that this is the size of the buffer on the daemon, too.
  static constexpr std::uint64_t kBytes = 32 << 10;

  std::vector<BufferId> operands;  ///< one for each argument, of kBytes
  std::vector<BufferId> others;    ///< of kBytes
  BufferId freed;
  BufferId foreign;  ///< of another session
  BufferId doomed;   ///< of kBytes; is freed while the call runs
};

/// Elements of a buffer before a call.
struct Contents {
  BufferId buffer;
  std::uint64_t offset_bytes = 0;
  std::vector<std::byte> bytes;
};

/// Words that a thread of the client changes all the time that the call runs.
struct ScribbledWords {
  BufferId buffer;
  std::uint64_t offset_bytes = 0;
  std::size_t count = 0;
  std::int64_t one = 0;
  std::int64_t other = 0;
};

/// A call, or a transform if `routine` is null.
struct HostileCall {
  const Descriptor* routine = nullptr;
  Argument arguments[kMaxArguments];
  FftPlan plan;
  BufferRef input;
  BufferRef output;
  std::vector<Contents> contents;
  std::optional<ScribbledWords> scribbled;
  bool frees_doomed = false;  ///< the buffer is freed while the call runs
  std::string text;           ///< the routine and its damages, for people
};

/// The bytes that decide about one call. Fewer are as good: the rest is zero.
inline constexpr std::size_t kHostileCallBytes = 64;

/// Makes the call that the bytes describe. Equal bytes make equal calls.
HostileCall hostile_call(std::span<const std::byte> bytes, const HostileBuffers& buffers);

/// Returns all arguments of the call, for people.
std::string description(const HostileCall& call);

}  // namespace ob::test
