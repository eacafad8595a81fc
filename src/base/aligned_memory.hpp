#pragma once
// Private memory with the alignment of vector instructions.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.hpp"

namespace ob {

/// Allocates uninitialised memory, aligned to 64 bytes.   Errors: out_of_memory
Result<std::shared_ptr<std::byte>> aligned_memory(std::uint64_t size_bytes);

}  // namespace ob
