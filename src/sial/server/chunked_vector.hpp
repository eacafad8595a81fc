#pragma once
// A sequence that grows without copying its elements.

#include <cstddef>
#include <memory>
#include <vector>

namespace ob::sial {

/// A sequence in chunks of some KiB. Elements keep their addresses, and while it grows it never
/// takes the memory of its elements twice, as std::vector does. A std::deque would spend a tenth
/// more on elements of 40 bytes, because its chunks are small.
/// Threads: owner only
template <class Element>
class ChunkedVector {
 public:
  std::size_t size() const noexcept { return size_; }
  Element& operator[](std::size_t at) noexcept { return chunks_[at / kChunk][at % kChunk]; }
  const Element& operator[](std::size_t at) const noexcept {
    return chunks_[at / kChunk][at % kChunk];
  }
  Element& push_back(const Element& element) {
    if (size_ % kChunk == 0) chunks_.push_back(std::make_unique<Element[]>(kChunk));
    Element& last = (*this)[size_++];
    last = element;
    return last;
  }
  void clear() noexcept {
    size_ = 0;
    chunks_ = decltype(chunks_)();  // frees their memory, as clear() does not
  }

 private:
  static constexpr std::size_t kChunk = 128;

  std::vector<std::unique_ptr<Element[]>> chunks_;
  std::size_t size_ = 0;
};

}  // namespace ob::sial
