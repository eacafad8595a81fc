#pragma once
// Shared memory that neither side can resize, so that the peer can never make a mapping fault.

#include <cstddef>

#include "base/fd.hpp"
#include "base/status.hpp"

namespace ob::transport {

/// Creates an anonymous zero-filled memory file of size_bytes, sealed against resizing and further
/// seals.   @param name shown in /proc only
/// Errors: out_of_memory, unsupported
Result<Fd> create_sealed_memory(const char* name, std::size_t size_bytes);

/// Checks that `fd`, which came from another process, cannot be resized any more and holds at least
/// min_bytes. Returns the size. Must be called before mapping.   Errors: protocol_error
Result<std::size_t> verify_sealed_memory(int fd, std::size_t min_bytes);

}  // namespace ob::transport
