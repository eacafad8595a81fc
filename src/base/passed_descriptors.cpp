#include "base/passed_descriptors.hpp"

#include <cstddef>
#include <cstring>

namespace ob {
namespace {

// A message of one byte. Sockets do not pass descriptors without bytes.
struct OneByte {
  OneByte() noexcept {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
  }
  OneByte(const OneByte&) = delete;
  OneByte& operator=(const OneByte&) = delete;

  char byte = 0;
  iovec part{&byte, 1};
  msghdr message{};
};

}  // namespace

void PassedDescriptors::attach(msghdr& message, int fd) noexcept {
  message.msg_control = bytes_;
  message.msg_controllen = CMSG_SPACE(sizeof fd);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
}

void PassedDescriptors::offer(msghdr& message) noexcept {
  message.msg_control = bytes_;
  message.msg_controllen = sizeof bytes_;
}

int PassedDescriptors::take(msghdr& message, Fd& first) noexcept {
  int count = 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t fds = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < fds; ++i, ++count) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
      Fd owner(fd);
      if (count == 0) first = std::move(owner);
    }
  }
  return count;
}

bool send_descriptor(int socket, int fd) noexcept {
  OneByte one;
  PassedDescriptors passed;
  passed.attach(one.message, fd);
  return ::sendmsg(socket, &one.message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

Fd receive_descriptor(int socket) noexcept {
  OneByte one;
  PassedDescriptors passed;
  passed.offer(one.message);
  Fd first;
  if (::recvmsg(socket, &one.message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) == 1) {
    (void)PassedDescriptors::take(one.message, first);
  }
  return first;
}

}  // namespace ob
