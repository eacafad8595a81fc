// A peer that writes to the memory and the socket of a shared-memory connection as the input says.
// The sanitizers check memory. This target checks that no call waits, that received bytes fit, and
// that no descriptor stays open.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "fuzz/failure.hpp"
#include "fuzz/input.hpp"
#include "transport/shm/control.hpp"
#include "transport/shm/stream.hpp"

namespace ob::fuzz {
namespace {

namespace shm = transport::shm;
using transport::Deadline;

constexpr std::size_t kMostDescriptors = 6;  // more than a record holds
constexpr unsigned kMostSegments = 32;       // the socket holds this many
constexpr std::size_t kMostBytes = shm::kRingBytes + 4096;

/// Takes values from the input; returns zeros behind its end.
class Source {
 public:
  explicit Source(View bytes) : bytes_(bytes) {}
  bool done() const noexcept { return bytes_.empty(); }
  template <class Number>
  Number take() noexcept {
    Number value{};
    const View taken = take_bytes(sizeof value);
    if (!taken.empty()) std::memcpy(&value, taken.data(), taken.size());
    return value;
  }
  View take_bytes(std::size_t count) noexcept {
    const View taken = bytes_.first(std::min(count, bytes_.size()));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }

 private:
  View bytes_;
};

shm::Mapping mapped(int memory) {
  auto mapping = shm::map_memory(memory);
  expect(mapping.ok(), "shared memory can be mapped");
  return std::move(*mapping);
}

Fd shared_memory() {
  Fd memory(::memfd_create("fuzz", MFD_CLOEXEC));
  expect(memory && ::ftruncate(memory.get(), shm::kMemoryBytes) == 0, "there is shared memory");
  return memory;
}

std::array<Fd, 2> socket_pair() {
  int ends[2];
  expect(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0,
         "there are sockets");
  return {Fd(ends[0]), Fd(ends[1])};
}

class Connection {
 public:
  explicit Connection(Source source) : Connection(source, shared_memory(), socket_pair()) {}

  void run() {
    while (!source_.done()) {
      const auto word = source_.take<std::uint8_t>();
      word % 2 == 0 ? act_as_peer(word / 2) : act_as_ourselves(word / 2);
    }
  }

 private:
  Connection(Source source, const Fd& memory, std::array<Fd, 2> sockets)
      : source_(source),
        memory_(mapped(memory.get())),
        socket_(std::move(sockets[1])),
        stream_(std::move(sockets[0]), mapped(memory.get()), shm::Side::listener, "fuzz", 0),
        bytes_(kMostBytes) {}

  shm::RingIndices& sends() {
    return memory_.header().rings[static_cast<unsigned>(shm::Side::connector)];
  }
  shm::RingIndices& receives() {
    return memory_.header().rings[static_cast<unsigned>(shm::Side::listener)];
  }

  void act_as_peer(unsigned action) {
    switch (action % 6) {
      case 0: {  // any word of the header
        auto* words = reinterpret_cast<std::atomic<std::uint32_t>*>(&memory_.header());
        const std::size_t at = source_.take<std::uint8_t>() % (sizeof(shm::Header) / 4);
        words[at].store(source_.take<std::uint32_t>());
        break;
      }
      case 1: sends().head.fetch_add(source_.take<std::uint32_t>() % kMostBytes); break;
      case 2: receives().tail.store(receives().head.load()); break;
      case 3: send_record(source_.take<std::uint8_t>()); break;
      case 4: send_packet(source_.take<std::uint8_t>()); break;
      default: socket_.reset(); break;
    }
  }

  void send_record(unsigned what) {
    shm::Record record;
    record.kind = static_cast<shm::RecordKind>(what % 4);
    record.value = what / 32;
    if (what / 16 % 2 != 0) record.version ^= 1;
    send({reinterpret_cast<const std::byte*>(&record), sizeof record}, what / 4 % 4);
  }

  void send_packet(unsigned what) { send(source_.take_bytes(what % 32), what / 32); }

  void send(View packet, std::size_t descriptors) {
    if (!socket_) return;
    iovec part{const_cast<std::byte*>(packet.data()), packet.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
    int fds[kMostDescriptors];
    descriptors = std::min(descriptors, kMostDescriptors);
    std::fill_n(fds, descriptors, STDERR_FILENO);
    if (descriptors > 0) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(descriptors * sizeof(int));
      std::memcpy(CMSG_DATA(header), fds, descriptors * sizeof(int));
    }
    (void)::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  void act_as_ourselves(unsigned action) {
    switch (action % 6) {
      case 0:
      case 1: exchange(action % 2 == 0); break;
      case 2: {
        auto segment = stream_.receive_segment(Deadline::min());
        if (segment.ok()) {
          expect(::fcntl(segment->fd, F_GETFD) >= 0, "a segment that came is open");
          Fd(segment->fd).reset();
        }
        break;
      }
      case 3: (void)stream_.wait(action / 6 % 2 == 0, action / 12 % 2 == 0, Deadline::min()); break;
      case 4:  // would wait if the socket were full
        if (segments_sent_++ < kMostSegments) (void)stream_.send_segment(STDERR_FILENO);
        break;
      default: stream_.shut_down(); break;
    }
  }

  void exchange(bool receive) {
    const std::size_t first = source_.take<std::uint8_t>();
    const std::size_t second = source_.take<std::uint32_t>() % (kMostBytes - first);
    const iovec parts[] = {{bytes_.data(), first}, {bytes_.data() + first, second}};
    const auto moved = receive ? stream_.try_receive(parts) : stream_.try_send(parts);
    if (moved.ok()) expect(*moved <= first + second, "no more moves than there is room for");
  }

  Source source_;
  shm::Mapping memory_;
  Fd socket_;
  shm::ShmStream stream_;
  std::vector<std::byte> bytes_;
  unsigned segments_sent_ = 0;
};

// Returns the lowest free descriptor. It tells whether a received descriptor was closed.
int next_descriptor() {
  const Fd next(::dup(STDERR_FILENO));
  return next.get();
}

}  // namespace
}  // namespace ob::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ob::fuzz;
  const int before = next_descriptor();
  Connection(Source({reinterpret_cast<const std::byte*>(data), size})).run();
  expect(next_descriptor() == before, "no descriptor stays open");
  return 0;
}
