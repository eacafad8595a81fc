#include "client/inherited_connections.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace ob::client {
namespace {

// Descriptors of open connections, for close_inherited_connections(): fixed memory, no locks. The
// inode tells whether a descriptor still is our connection.
struct OpenDescriptor {
  std::atomic<int> number_plus_1{0};  // 0: free
  std::atomic<std::uint64_t> inode{0};
};
constexpr std::size_t kMaxDescriptors = 1024;  // 64 connections of 16 streams
constinit std::array<OpenDescriptor, kMaxDescriptors> g_descriptors{};

std::uint64_t inode_of(int descriptor) noexcept {
  struct stat file {};
  return ::fstat(descriptor, &file) == 0 ? file.st_ino : 0;
}

void remember(int descriptor) noexcept {
  for (auto& slot : g_descriptors) {
    int expected = 0;
    if (!slot.number_plus_1.compare_exchange_strong(expected, descriptor + 1)) continue;
    slot.inode = inode_of(descriptor);
    return;
  }
}

void forget(int descriptor) noexcept {
  for (auto& slot : g_descriptors) {
    int expected = descriptor + 1;
    if (slot.number_plus_1.compare_exchange_strong(expected, 0)) return;
  }
}

}  // namespace

void remember(const transport::Stream& stream) noexcept {
  for (const int descriptor : stream.descriptors()) remember(descriptor);
}

void forget(const transport::Stream& stream) noexcept {
  for (const int descriptor : stream.descriptors()) forget(descriptor);
}

void close_inherited_connections() noexcept {
  for (auto& slot : g_descriptors) {
    const int descriptor = slot.number_plus_1.exchange(0) - 1;
    if (descriptor >= 0 && inode_of(descriptor) == slot.inode) ::close(descriptor);
  }
}

}  // namespace ob::client
