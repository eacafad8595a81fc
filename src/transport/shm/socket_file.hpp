#pragma once
// The file that gives a unix socket its name.

#include <sys/types.h>

#include "base/fd.hpp"
#include "transport/address.hpp"

namespace ob::transport::shm {

/// A listening socket and its file.
struct SocketFile {
  Fd socket;
  dev_t device = 0;  ///< with inode: distinguishes our file from one that replaced it
  ino_t inode = 0;
};

struct AdoptedSocket {
  UnixAddress address;
  SocketFile file;
};

/// Creates the socket file (mode 0600) and listens on it; replaces the file of a dead listener.
/// Errors: unavailable if the path is taken or a live listener has it; denied if permissions forbid
///         it
Result<SocketFile> create_socket_file(const UnixAddress& address);

/// Takes a Unix socket that listens already, and its file. Whoever made the socket may have started
/// this process because a client waits there; takes the file of starting_mark() away.
/// Errors: invalid_argument if `fd` is no such socket
Result<AdoptedSocket> adopt_socket(int fd);

/// Returns the path of a file that says: the daemon of this socket is being started, so that a
/// client waits longer for it.
std::string starting_mark(const UnixAddress& address);

/// Removes the file if it has not been replaced.
void remove_socket_file(const UnixAddress& address, const SocketFile& file) noexcept;

/// Fills a socket address. parse_address() has checked the length of the path.
/// @pre path.size() < sizeof(sockaddr_un::sun_path)
struct SocketName {
  explicit SocketName(const std::string& path) noexcept;
  alignas(8) char bytes[128] = {};
  unsigned size_bytes = 0;
};

}  // namespace ob::transport::shm
