#pragma once
// The loops behind wire/byte_swap.hpp, one for every kind of processor.

#include <cstddef>
#include <span>

namespace ob::wire::detail {

/// Whether results are stored through the caches or past them. Streaming is for sizes that no cache
/// would keep, and never in place.
enum class Store : bool { cached, streaming };

/// Copies size_bytes, reversing the bytes of every word.
/// @pre word_bytes is 2, 4 or 8 and divides size_bytes; to == from, or they do not overlap
using SwapLoop = void (*)(std::byte* to, const std::byte* from, std::size_t size_bytes,
                          std::size_t word_bytes, Store store);

struct SwapKernel {
  const char* name;
  SwapLoop loop;
};

/// The kernels that this processor can run, the best first; the last one is portable.
std::span<const SwapKernel> swap_kernels() noexcept;

}  // namespace ob::wire::detail
