#pragma once
// The file under which a unix socket is found.

#include <sys/types.h>

#include "transport/address.hpp"
#include "transport/detail/fd.hpp"

namespace ob::transport::shm {

/// A listening socket and the file that leads to it.
struct SocketFile {
  detail::Fd socket;
  dev_t device = 0;  ///< with inode: tells our file from one that replaced it
  ino_t inode = 0;
};

/// Creates the socket file (mode 0600) and listens on it; a file left by a dead listener is
/// replaced. Errors: unavailable if the path is taken or a live listener has it; denied if
/// permissions forbid it
Result<SocketFile> create_socket_file(const UnixAddress& address);

/// Removes the file if it is still the one created.
void remove_socket_file(const UnixAddress& address, const SocketFile& file) noexcept;

/// Fills a socket address.   @pre path fits (parse_address checks)
struct SocketName {
  explicit SocketName(const std::string& path) noexcept;
  alignas(8) char bytes[128] = {};
  unsigned size_bytes = 0;
};

}  // namespace ob::transport::shm
