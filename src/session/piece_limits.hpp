#pragma once
// Limits of pieces, for both directions of a stream.

#include <cstddef>
#include <cstdint>

#include "transport/stream.hpp"

namespace ob::session {

/// Copying a smaller piece through the buffer costs less than the system call's work per piece.
inline constexpr std::uint64_t kDirectPieceBytes = 2048;
/// The most pieces of one system call.
inline constexpr std::size_t kPiecesPerCall = transport::kMostParts;

}  // namespace ob::session
