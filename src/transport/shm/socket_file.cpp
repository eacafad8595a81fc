#include "transport/shm/socket_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/contract.hpp"
#include "transport/detail/poll.hpp"
#include "transport/detail/system_error.hpp"

namespace ob::transport::shm {
namespace {

constexpr int kSocketType = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
// Another listener that starts in the same folder holds the lock for microseconds only.
constexpr std::chrono::milliseconds kLockTimeout{1000};
constexpr std::chrono::milliseconds kLockPause{1};

const sockaddr* address_of(const SocketName& name) {
  return reinterpret_cast<const sockaddr*>(name.bytes);
}

/// Prevents that two starting listeners both find the same stale file and remove each other's new
/// one. The advisory lock is on the folder, so that no lock file remains. Without permission to
/// lock the listener starts all the same.
Fd lock_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  Fd lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Deadline deadline = Clock::now() + kLockTimeout;
  while (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK &&
         Clock::now() < deadline) {
    (void)detail::poll_until({}, Clock::now() + kLockPause);
  }
  return lock;
}

Status unusable(const UnixAddress& address, int error) {
  const Code code =
      error == EACCES || error == EPERM || error == EROFS ? Code::denied : Code::unavailable;
  return {code, "cannot listen on " + address.text() + " (" + detail::system_text(error) + ")"};
}

int option_of(int fd, int option) noexcept {
  int value = 0;
  socklen_t size_bytes = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, option, &value, &size_bytes) == 0 ? value : -1;
}

/// Returns the path of a Unix socket that listens.
Result<std::string> path_of_listener(int fd) {
  sockaddr_un name = {};
  socklen_t size_bytes = sizeof name;
  const bool known = ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size_bytes) == 0;
  const bool fits = known && name.sun_family == AF_UNIX && name.sun_path[0] != '\0' &&
                    option_of(fd, SO_TYPE) == SOCK_SEQPACKET && option_of(fd, SO_ACCEPTCONN) == 1;
  if (fits) return std::string(name.sun_path, ::strnlen(name.sun_path, sizeof name.sun_path));
  return Status(Code::invalid_argument,
                "cannot listen on fd:" + std::to_string(fd) +
                    " (it is no Unix socket of type SOCK_SEQPACKET that listens at a path)");
}

/// Removes a socket file that nobody listens on.
Status remove_stale(const UnixAddress& address, const SocketName& name) {
  struct stat status = {};
  if (::lstat(address.path.c_str(), &status) != 0) {
    return errno == ENOENT ? Status() : unusable(address, errno);
  }
  if (!S_ISSOCK(status.st_mode)) {
    return {Code::unavailable, "cannot listen on " + address.text() +
                                   " (the file exists and is no socket) choose another path"};
  }
  const Fd probe(::socket(AF_UNIX, kSocketType, 0));
  if (!probe) return unusable(address, errno);
  const int outcome = ::connect(probe.get(), address_of(name), name.size_bytes);
  const int error = outcome == 0 ? 0 : errno;
  if (error == ECONNREFUSED) {
    return ::unlink(address.path.c_str()) == 0 || errno == ENOENT ? Status()
                                                                  : unusable(address, errno);
  }
  if (error == ENOENT) return {};
  if (error == EACCES) return unusable(address, error);
  return {Code::unavailable,
          "cannot listen on " + address.text() +
              " (somebody listens there) stop that daemon or choose another path"};
}

}  // namespace

SocketName::SocketName(const std::string& path) noexcept {
  OB_EXPECT(path.size() < sizeof(sockaddr_un::sun_path));
  sockaddr_un name = {};
  static_assert(sizeof name <= sizeof bytes);
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.data(), std::min(path.size(), sizeof name.sun_path - 1));
  std::memcpy(bytes, &name, sizeof name);
  size_bytes = sizeof name;
}

Result<SocketFile> create_socket_file(const UnixAddress& address) {
  const SocketName name(address.path);
  const Fd lock = lock_folder_of(address.path);
  OB_RETURN_IF_ERROR(remove_stale(address, name));
  SocketFile file;
  file.socket.reset(::socket(AF_UNIX, kSocketType, 0));
  if (!file.socket) return unusable(address, errno);
  // Linux gives the file the mode of the unbound socket, so that it is never open to others, not
  // even for a moment. umask would have the same effect, but changes the whole process.
  (void)::fchmod(file.socket.get(), S_IRUSR | S_IWUSR);
  if (::bind(file.socket.get(), address_of(name), name.size_bytes) != 0)
    return unusable(address, errno);
  struct stat status = {};
  if (::lstat(address.path.c_str(), &status) != 0) return unusable(address, errno);
  file.device = status.st_dev;
  file.inode = status.st_ino;
  if (::listen(file.socket.get(), SOMAXCONN) != 0) {
    const int error = errno;
    remove_socket_file(address, file);
    return unusable(address, error);
  }
  return file;
}

std::string starting_mark(const UnixAddress& address) { return address.path + ".starting"; }

Result<AdoptedSocket> adopt_socket(int fd) {
  AdoptedSocket adopted;
  OB_ASSIGN_OR_RETURN(adopted.address.path, path_of_listener(fd));
  SocketFile& file = adopted.file;
  struct stat status = {};
  if (::lstat(adopted.address.path.c_str(), &status) != 0) return unusable(adopted.address, errno);
  file.device = status.st_dev;
  file.inode = status.st_ino;
  file.socket.reset(fd);
  (void)::fcntl(fd, F_SETFD, FD_CLOEXEC);
  (void)::fcntl(fd, F_SETFL, O_NONBLOCK);  // and no O_ASYNC for the process that made the socket
  // From here on, the kernel names this process to clients, and not the one that made the socket.
  if (::listen(fd, SOMAXCONN) != 0) return unusable(adopted.address, errno);
  (void)::unlink(starting_mark(adopted.address).c_str());
  return adopted;
}

void remove_socket_file(const UnixAddress& address, const SocketFile& file) noexcept {
  struct stat status = {};
  if (::lstat(address.path.c_str(), &status) != 0) return;
  if (status.st_dev == file.device && status.st_ino == file.inode)
    (void)::unlink(address.path.c_str());
}

}  // namespace ob::transport::shm
