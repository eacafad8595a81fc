#include "sial/persist/file_bytes.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace ob::sial {
namespace {

Status system_problem(const char* what) {
  return {Code::unavailable, std::string(what) + " (" + strerror(errno) + ")"};
}

}  // namespace

Status write_at(int file, std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return system_problem("cannot write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return {};
}

Status read_at(int file, std::uint64_t offset, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_problem("cannot read");
    if (got == 0) return {Code::unavailable, "the file is shorter than it was"};
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

}  // namespace ob::sial
