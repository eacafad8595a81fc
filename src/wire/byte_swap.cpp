#include "wire/byte_swap.hpp"

#include "wire/detail/swap_kernels.hpp"

namespace ob::wire {

void copy_swapped(std::byte* to, const std::byte* from, std::uint64_t size_bytes,
                  std::uint32_t word_bytes, std::uint64_t whole_bytes) noexcept {
  static const detail::SwapLoop loop = detail::swap_kernels().front().loop;
  const bool streams = whole_bytes >= kStreamingBytes && to != from;
  loop(to, from, size_bytes, word_bytes,
       streams ? detail::Store::streaming : detail::Store::cached);
}

}  // namespace ob::wire
