#pragma once
// Shared memory that neither side can shrink or grow, so that a mapping of it never faults because
// of the other.

#include <cstddef>

#include "base/status.hpp"
#include "transport/detail/fd.hpp"

namespace ob::transport {

/// Creates an anonymous zero-filled memory file of size_bytes, sealed against resizing and further
/// seals. Memory: name is for /proc only   Errors: out_of_memory, unsupported
Result<detail::Fd> create_sealed_memory(const char* name, std::size_t size_bytes);

/// Checks that `fd`, which came from another process, cannot be resized any more and holds
/// min_bytes or more. Call it before mapping. Returns the size. Errors: protocol_error
Result<std::size_t> verify_sealed_memory(int fd, std::size_t min_bytes);

}  // namespace ob::transport
