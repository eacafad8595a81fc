#pragma once
// The descriptors of this process's open connections, which a forked child must not keep open.

#include "transport/stream.hpp"

namespace ob::client {

/// Notes the descriptors of an open connection.   Threads: any
void remember(const transport::Stream& stream) noexcept;
/// Forgets them, before the connection is closed.   Threads: any
void forget(const transport::Stream& stream) noexcept;

/// Closes, in a forked child, the descriptors of all connections of its parent, without touching
/// anything else.
/// Threads: the child's only one; async-signal-safe.
void close_inherited_connections() noexcept;

}  // namespace ob::client
