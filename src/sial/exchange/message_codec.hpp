#pragma once
// Messages as bytes, for processes of one job that compared their versions at the start.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "sial/exchange/message.hpp"

namespace ob::sial {

/// Elements of a block up to this number travel with the message; others follow behind it, so that
/// they go straight into their block.
/// Source: 4 KiB, the eager limit of Open MPI's TCP transport is 64 KiB and of MPICH's 16 KiB
inline constexpr std::int64_t kInlineElements = 512;

/// Encodes a message without the elements of a large block.
std::vector<std::byte> encode(const Message& message);

struct Decoded {
  Message message;
  /// The block whose elements follow; it is also message.block. nullptr: the message is complete.
  BlockPtr following;
};

/// Decodes what encode() made; allocates the block from `pool`.
/// Errors: protocol_error if the bytes are malformed; out_of_memory
Result<Decoded> decode(std::span<const std::byte> bytes, BlockPool& pool);

}  // namespace ob::sial
