#include "executor/linker.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string_view>

#include "base/fd.hpp"
#include "executor/sandbox.hpp"

namespace ob::executor {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 10;  // of all arguments
constexpr int kRefused = -1;

// The end of the socket in the process that compiles.
struct Service {
  std::mutex mutex;
  Fd socket;
};
Service& service() {
  static Service only;
  return only;
}

bool is_linker(std::string_view path) {
  constexpr std::array<std::string_view, 4> kLinkers{"/usr/bin/ld", "/usr/bin/ld.bfd",
                                                     "/usr/bin/ld.gold", "/usr/bin/ld.lld"};
  return std::find(kLinkers.begin(), kLinkers.end(), path) != kLinkers.end();
}

// The arguments lie one after another, each with a zero behind it.
std::vector<char*> split(char* bytes, std::size_t size) {
  std::vector<char*> arguments;
  for (std::size_t at = 0; at < size;) {
    arguments.push_back(bytes + at);
    at += std::strlen(bytes + at) + 1;
  }
  arguments.push_back(nullptr);
  return arguments;
}

[[noreturn]] void become(const std::vector<char*>& arguments) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!restrict_linker_calls().ok()) ::_exit(127);
  char* const none[] = {nullptr};
  ::execve(arguments[0], arguments.data(), none);
  ::_exit(127);
}

int run(int socket, std::vector<char>& message, std::size_t size) {
  message[size] = '\0';
  const std::vector<char*> arguments = split(message.data(), size);
  if (arguments.size() < 2 || !is_linker(arguments[0])) return kRefused;
  const pid_t child = ::fork();
  if (child < 0) return kRefused;
  if (child == 0) {
    ::close(socket);
    become(arguments);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

[[noreturn]] void serve(int socket) {
  std::vector<char> message(kMostBytes + 1);
  for (;;) {
    const ssize_t size = ::recv(socket, message.data(), kMostBytes, 0);
    if (size <= 0) ::_exit(0);
    const int status = run(socket, message, static_cast<std::size_t>(size));
    if (::send(socket, &status, sizeof status, MSG_NOSIGNAL) < 0) ::_exit(0);
  }
}

}  // namespace

Status start_linker_service() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return {Code::unavailable, std::string("no socket pair (") + std::strerror(errno) + ")"};
  }
  service().socket.reset(ends[0]);
  const Fd other(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return {Code::unavailable, "no process for the linker"};
  if (child > 0) return {};
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  for (int inherited = 3; inherited < 64; ++inherited) {
    if (inherited != other.get()) ::close(inherited);
  }
  serve(other.get());
}

bool has_linker_service() noexcept { return static_cast<bool>(service().socket); }

Result<int> run_linker(const std::vector<std::string>& arguments) {
  std::string message;
  for (const std::string& argument : arguments) message.append(argument).push_back('\0');
  if (message.size() > kMostBytes) return Status(Code::denied, "a linker's command is too long");
  Service& linker = service();
  const std::lock_guard lock(linker.mutex);
  int status = kRefused;
  const int socket = linker.socket.get();
  if (::write(socket, message.data(), message.size()) < 0 ||
      ::read(socket, &status, sizeof status) != sizeof status) {
    return Status(Code::device_error, "the process of the linker has ended");
  }
  if (status == kRefused) return Status(Code::denied, "only linkers run here");
  return status;
}

}  // namespace ob::executor
