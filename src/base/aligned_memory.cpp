#include "base/aligned_memory.hpp"

#include <new>
#include <string>

namespace ob {

Result<std::shared_ptr<std::byte>> aligned_memory(std::uint64_t size_bytes) {
  constexpr std::align_val_t kAlignment{64};
  void* const memory = ::operator new(size_bytes, kAlignment, std::nothrow);
  if (memory == nullptr) {
    return Status(Code::out_of_memory,
                  "no memory for " + std::to_string(size_bytes) + " bytes of scratch");
  }
  return std::shared_ptr<std::byte>(static_cast<std::byte*>(memory),
                                    [](std::byte* at) { ::operator delete(at, kAlignment); });
}

}  // namespace ob
