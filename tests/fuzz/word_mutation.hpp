#pragma once
// The mutator of targets that read text: it inserts words that a mutation of bytes would hardly
// find. Only the fuzzer's own driver has LLVMFuzzerMutate().

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace ob::fuzz {

/// Mutates `size` bytes in place, for LLVMFuzzerCustomMutator(). Two of three times it inserts one
/// of the words behind the first byte or later, if there is room.   Returns the new size
inline std::size_t insert_word(std::span<const std::string_view> words, std::uint8_t* data,
                               std::size_t size, std::size_t max_size, unsigned seed) {
  if (seed % 3 == 0 || size == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string_view word = words[seed / 3 % words.size()];
  const std::size_t at = seed / 128 % size + 1;
  if (size + word.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memmove(data + at + word.size(), data + at, size - at);
  std::memcpy(data + at, word.data(), word.size());
  return size + word.size();
}

}  // namespace ob::fuzz
