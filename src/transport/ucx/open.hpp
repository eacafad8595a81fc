#pragma once
// A stream whose bytes travel through UCX, which drives InfiniBand and RoCE. It is set up, and its
// peer's life watched, over another stream (the control): docs/decisions/0011-ucx.md.

#include <memory>

#include "transport/stream.hpp"

namespace ob::transport::ucx {

/// Completes a connection whose control is connected already.
/// Errors: unsupported if this build or machine has no UCX; version_mismatch naming both releases;
/// unavailable if the peer does not answer.
Result<std::unique_ptr<Stream>> connect(std::unique_ptr<Stream> control, Deadline deadline);

/// Accepts the connections whose controls `control` accepts.   Errors: unsupported
Result<std::unique_ptr<Listener>> listen(std::unique_ptr<Listener> control);

}  // namespace ob::transport::ucx
