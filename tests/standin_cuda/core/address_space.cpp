#include "address_space.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace standin {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kAlign = 256;  // the alignment that cudaMalloc guarantees
constexpr std::byte kGuard{0xA5};
// Larger ranges map a file of this size instead: writing poison costs 1 s per GiB.
constexpr std::size_t kPoisonFile = 16U << 20;

std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

std::uintptr_t reserve(std::size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? 0 : reinterpret_cast<std::uintptr_t>(p);
}

int poison_file() {
  static const int kFile = [] {
    const int fd = memfd_create("standin_cuda_poison", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, kPoisonFile) != 0) return -1;
    void* p = mmap(nullptr, kPoisonFile, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return -1;
    std::memset(p, 0xFF, kPoisonFile);
    munmap(p, kPoisonFile);
    return fd;
  }();
  return kFile;
}

}  // namespace

bool map_poison(std::byte* at, std::size_t bytes) {
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  const std::size_t whole = bytes / kPoisonFile * kPoisonFile;
  for (std::size_t i = 0; i < whole; i += kPoisonFile) {
    if (mmap(at + i, kPoisonFile, kAccess, MAP_PRIVATE | MAP_FIXED, poison_file(), 0) == MAP_FAILED)
      return false;
  }
  if (whole == bytes) return true;
  void* rest =
      mmap(at + whole, bytes - whole, kAccess, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0);
  if (rest == MAP_FAILED) return false;
  std::memset(rest, 0xFF, bytes - whole);
  return true;
}

AddressSpace& AddressSpace::instance() {
  static auto* const kSpace = new AddressSpace;
  return *kSpace;
}

AddressSpace::AddressSpace() {
  for (size_ = 1ULL << 40; size_ >= 1ULL << 32; size_ /= 2) {  // less where limits apply
    seen_ = reserve(size_);
    hidden_ = seen_ == 0 ? 0 : reserve(size_);
    if (hidden_ != 0) return;
    if (seen_ != 0) munmap(reinterpret_cast<void*>(seen_), size_);
  }
  size_ = 0;
}

std::uintptr_t AddressSpace::take(std::size_t bytes) {
  const std::size_t pages = round_up(round_up(bytes, kAlign), kPage);
  // There is a page on either side. The libraries that compute may read it; nobody may write it.
  const std::size_t length = pages + 2 * kPage;
  const std::lock_guard lock(mutex_);
  for (int rounds = 0;;) {
    if (next_ + length > size_) {
      next_ = 0;
      if (++rounds == 2) return 0;
    }
    const auto after = taken_.lower_bound(next_);
    const bool clear = after == taken_.end() || after->first >= next_ + length;
    if (clear) break;
    next_ = after->first + after->second;
  }
  std::byte* const at = reinterpret_cast<std::byte*>(hidden_ + next_);
  if (!map_poison(at, length)) return 0;
  taken_.emplace(next_, length);
  const std::size_t before = length - kPage - round_up(bytes, kAlign);
  std::memset(at, static_cast<int>(kGuard), before);
  std::memset(at + before + bytes, static_cast<int>(kGuard), length - before - bytes);
  const std::uintptr_t address = seen_ + next_ + before;
  next_ += length;
  return address;
}

bool AddressSpace::give_back(std::uintptr_t address, std::size_t bytes) {
  const std::size_t length = round_up(round_up(bytes, kAlign), kPage) + 2 * kPage;
  const std::size_t offset = (address - seen_) / kPage * kPage - kPage;
  std::byte* const at = reinterpret_cast<std::byte*>(hidden_ + offset);
  std::byte* const data = backing(reinterpret_cast<void*>(address));
  const auto guard = [](std::byte b) { return b == kGuard; };
  const bool clean = std::all_of(at, data, guard) && std::all_of(data + bytes, at + length, guard);
  mmap(at, length, PROT_NONE, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const std::lock_guard lock(mutex_);
  taken_.erase(offset);
  return clean;
}

}  // namespace standin
