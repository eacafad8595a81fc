#pragma once
// Decides, without the code of devices, which calls a device must refuse, and which bytes a call
// may change.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/hostile_calls.hpp"

namespace ob::test {

/// The memory of a buffer that a call may use. Contents are empty if they are not known.
struct KnownBuffer {
  std::uint64_t size_bytes = 0;
  std::span<const std::byte> contents;
};
/// Returns nothing for a buffer that the session does not have.
using FindBuffer = std::function<std::optional<KnownBuffer>(BufferId)>;

/// Bytes of a buffer: columns of `width` bytes.
struct Columns {
  BufferId buffer;
  std::uint64_t first = 0;
  std::uint64_t width = 0;
  std::uint64_t pitch = 0;
  std::uint64_t count = 0;
};

struct Judgement {
  std::string refuse;               ///< the reason to refuse the call; empty if there is none
  std::vector<Columns> may_change;  ///< the operands that the routine changes
};

/// Judges a call before it runs.
/// @param elements false if the client changes them during the call, so that they say nothing
Judgement judge(const HostileCall& call, const FindBuffer& find, bool elements);

}  // namespace ob::test
