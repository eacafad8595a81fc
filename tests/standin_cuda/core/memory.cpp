#include "memory.hpp"

#include <sys/mman.h>

#include "address_space.hpp"
#include "report.hpp"
#include "settings.hpp"

namespace standin {
namespace {

constexpr std::size_t kPage = 4096;
// The number of freed ranges that are remembered to recognise late uses.
constexpr std::size_t kFreedKept = 65536;
constexpr const char* kDeviceKind = "device block(s)";
constexpr const char* kPinnedKind = "page-locked host block(s)";
constexpr const char* kRegisteredKind = "registered host range(s)";

std::uintptr_t number(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }
std::size_t pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

Memory& Memory::instance() {
  static auto* const kMemory = new Memory;
  return *kMemory;
}

void* Memory::allocate(int device, std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    std::uint64_t& used = used_[device];
    if (bytes > settings().memory_bytes - used) return nullptr;
    used += bytes;
  }
  const std::uintptr_t address = AddressSpace::instance().take(bytes);
  const std::lock_guard lock(mutex_);
  if (address == 0) {
    used_[device] -= bytes;
    return nullptr;
  }
  blocks_[address] = std::make_shared<Block>(Block{address, bytes, device, {}});
  Report::instance().born(kDeviceKind);
  return reinterpret_cast<void*>(address);
}

std::optional<Block> Memory::detach(void* p) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(number(p));
  if (found == blocks_.end()) return std::nullopt;
  Block block = *found->second;
  blocks_.erase(found);
  freed_[block.address] = block.bytes;
  if (freed_.size() > kFreedKept) freed_.erase(freed_.begin());
  Report::instance().died(kDeviceKind);
  return block;
}

void Memory::drop(const Block& block, const char* call) {
  {
    const std::lock_guard lock(mutex_);
    used_[block.device] -= block.bytes;
  }
  if (!AddressSpace::instance().give_back(block.address, block.bytes))
    Report::instance().violation(
        call, "memory beside the block of " + std::to_string(block.bytes) + " bytes was written");
}

bool Memory::release(void* p, const char* call) {
  const std::optional<Block> block = detach(p);
  if (!block) return false;
  drop(*block, call);
  return true;
}

std::shared_ptr<Block> Memory::find(const void* p) {
  const std::lock_guard lock(mutex_);
  auto found = blocks_.upper_bound(number(p));
  if (found == blocks_.begin()) return nullptr;
  --found;
  const std::shared_ptr<Block>& block = found->second;
  // The address one behind the end belongs to the block: an empty range may start there.
  return number(p) - block->address <= block->bytes ? block : nullptr;
}

std::string Memory::why_none(const void* p) {
  if (p == nullptr) return "a null pointer";
  if (find_pinned(p, 1)) return "page-locked host memory";
  if (!AddressSpace::instance().inside(p)) return "a host pointer";
  const std::lock_guard lock(mutex_);
  auto found = freed_.upper_bound(number(p));
  if (found != freed_.begin()) {
    --found;
    if (number(p) - found->first < found->second) return "freed memory";
  }
  return "an address outside of all blocks";
}

std::uint64_t Memory::used_bytes(int device) {
  const std::lock_guard lock(mutex_);
  return used_[device];
}

void Memory::reset(int device) {
  std::vector<void*> gone;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [address, block] : blocks_) {
      if (block->device == device) gone.push_back(reinterpret_cast<void*>(address));
    }
  }
  for (void* p : gone) release(p, "cudaDeviceReset");
}

void* Memory::allocate_pinned(std::size_t bytes, unsigned flags) {
  // A page that nobody may touch follows the memory.
  const std::size_t length = pages(bytes) + kPage;
  void* p = mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  if (!map_poison(static_cast<std::byte*>(p), pages(bytes))) {
    munmap(p, length);
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  pinned_[number(p)] = Pinned{bytes, flags, true};
  Report::instance().born(kPinnedKind);
  return p;
}

bool Memory::release_pinned(void* p) {
  const std::lock_guard lock(mutex_);
  const auto found = pinned_.find(number(p));
  if (found == pinned_.end() || !found->second.allocated) return false;
  munmap(p, pages(found->second.bytes) + kPage);
  pinned_.erase(found);
  Report::instance().died(kPinnedKind);
  return true;
}

int Memory::register_pinned(void* p, std::size_t bytes, unsigned flags) {
  const std::lock_guard lock(mutex_);
  auto next = pinned_.lower_bound(number(p));
  if (next != pinned_.end() && next->first < number(p) + bytes) return 1;
  if (next != pinned_.begin() && std::prev(next)->first + std::prev(next)->second.bytes > number(p))
    return 1;
  pinned_[number(p)] = Pinned{bytes, flags, false};
  Report::instance().born(kRegisteredKind);
  return 0;
}

bool Memory::unregister_pinned(void* p) {
  const std::lock_guard lock(mutex_);
  const auto found = pinned_.find(number(p));
  if (found == pinned_.end() || found->second.allocated) return false;
  pinned_.erase(found);
  Report::instance().died(kRegisteredKind);
  return true;
}

std::optional<std::pair<std::uintptr_t, Pinned>> Memory::find_pinned(const void* p,
                                                                     std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto found = pinned_.upper_bound(number(p));
  if (found == pinned_.begin()) return std::nullopt;
  --found;
  if (number(p) - found->first + bytes > found->second.bytes) return std::nullopt;
  return *found;
}

}  // namespace standin
