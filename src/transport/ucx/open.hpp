#pragma once
// Streams through UCX, which drives InfiniBand and RoCE. A second stream, the control, sets each of
// them up and detects the death of the peer: docs/decisions/0011-ucx.md.

#include <memory>

#include "transport/stream.hpp"

namespace ob::transport::ucx {

/// Completes a connection whose control stream is already connected.
/// Errors: unsupported if this build or machine has no UCX; version_mismatch, which names both
///         releases; unavailable if the peer does not answer
Result<std::unique_ptr<Stream>> connect(std::unique_ptr<Stream> control, Deadline deadline);

/// Makes a listener for UCX streams from a listener for their control streams.
/// Errors: unsupported
Result<std::unique_ptr<Listener>> listen(std::unique_ptr<Listener> control);

}  // namespace ob::transport::ucx
