#include "base/readable_memory.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <array>

namespace ob {
namespace {

constexpr std::size_t kMostPieces = 64;

bool read_own(std::span<std::byte> to, std::span<const iovec> from) noexcept {
  const iovec target{to.data(), to.size()};
  const ssize_t count = ::process_vm_readv(::getpid(), &target, 1, from.data(), from.size(), 0);
  return count == static_cast<ssize_t>(to.size());
}

}  // namespace

bool copy_if_readable(std::span<std::byte> destination, const Layout& source) noexcept {
  Layout::Cursor cursor(source);
  while (!cursor.done()) {
    std::array<iovec, kMostPieces> pieces;
    std::size_t count = 0;
    std::size_t bytes = 0;
    for (; count < kMostPieces && !cursor.done(); ++count) {
      const std::span<std::byte> piece = cursor.piece();
      pieces[count] = {piece.data(), piece.size()};
      bytes += piece.size();
      cursor.advance(piece.size());
    }
    if (!read_own(destination.first(bytes), {pieces.data(), count})) return false;
    destination = destination.subspan(bytes);
  }
  return true;
}

}  // namespace ob
