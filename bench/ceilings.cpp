#include "bench/ceilings.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace ob::bench {
namespace {

constexpr std::size_t kPiece_bytes = std::size_t{1} << 20;  // the best size by measurement

class RawTcp final : public Channel {
 public:
  explicit RawTcp(int fd) : fd_(fd) {
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(fd_, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
  }
  ~RawTcp() override { ::close(fd_); }

  bool send(const std::byte* from, std::size_t size_bytes) override {
    while (size_bytes != 0) {
      const ssize_t n = ::send(fd_, from, std::min(size_bytes, kPiece_bytes), MSG_NOSIGNAL);
      if (n <= 0) return false;
      from += n;
      size_bytes -= static_cast<std::size_t>(n);
    }
    return true;
  }

  bool receive(std::byte* to, std::size_t size_bytes) override {
    while (size_bytes != 0) {
      const ssize_t n = ::recv(fd_, to, std::min(size_bytes, kPiece_bytes), 0);
      if (n <= 0) return false;
      to += n;
      size_bytes -= static_cast<std::size_t>(n);
    }
    return true;
  }

 private:
  const int fd_;
};

/// One slot for each direction. A counter holds the number of messages that were put into it.
struct Slots {
  struct Lane {
    alignas(128) std::atomic<std::uint64_t> put;
    alignas(128) std::atomic<std::uint64_t> taken;
  } lanes[2];
  alignas(128) std::byte data[];
};

void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class RawMemory final : public Channel {
 public:
  RawMemory(Slots& slots, std::size_t slot_bytes, int side)
      : slots_(slots), slot_bytes_(slot_bytes), side_(side) {}
  ~RawMemory() override { slots_.lanes[side_].put.store(UINT64_MAX, std::memory_order_release); }

  bool send(const std::byte* from, std::size_t size_bytes) override {
    auto& lane = slots_.lanes[side_];
    while (lane.taken.load(std::memory_order_acquire) != sent_) pause_core();
    std::memcpy(slot(side_), from, size_bytes);
    lane.put.store(++sent_, std::memory_order_release);
    return true;
  }

  bool receive(std::byte* to, std::size_t size_bytes) override {
    auto& lane = slots_.lanes[1 - side_];
    std::uint64_t put = 0;
    while ((put = lane.put.load(std::memory_order_acquire)) == received_) pause_core();
    if (put == UINT64_MAX) return false;
    std::memcpy(to, slot(1 - side_), size_bytes);
    lane.taken.store(++received_, std::memory_order_release);
    return true;
  }

 private:
  std::byte* slot(int side) { return slots_.data + static_cast<std::size_t>(side) * slot_bytes_; }

  Slots& slots_;
  const std::size_t slot_bytes_;
  const int side_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

int listen_on_loopback(sockaddr_in& address) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size_bytes = sizeof address;
  auto* name = reinterpret_cast<sockaddr*>(&address);
  if (::bind(fd, name, size_bytes) != 0 || ::listen(fd, 1) != 0) std::abort();
  if (::getsockname(fd, name, &size_bytes) != 0) std::abort();
  return fd;
}

std::unique_ptr<Channel> connect_to(const sockaddr_in& address) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return nullptr;
  return std::make_unique<RawTcp>(fd);
}

std::unique_ptr<Conversation> raw_memory(std::size_t largest_bytes) {
  const std::size_t slot_bytes = (std::max<std::size_t>(largest_bytes, 4096) + 4095) / 4096 * 4096;
  void* base = ::mmap(nullptr, sizeof(Slots) + 2 * slot_bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) std::abort();
  Slots& slots = *static_cast<Slots*>(base);  // stays mapped until the program ends
  return std::make_unique<Conversation>(
      largest_bytes, [&, slot_bytes] { return std::make_unique<RawMemory>(slots, slot_bytes, 1); },
      [&, slot_bytes] { return std::make_unique<RawMemory>(slots, slot_bytes, 0); });
}

Samples ping_pong(Conversation& conversation, std::size_t bytes, int repetitions,
                  std::uint64_t rounds) {
  const std::uint64_t count = rounds != 0 ? rounds : rounds_for(bytes);
  (void)conversation.ping_pong(bytes, count);
  Samples samples;
  for (int i = 0; i < repetitions; ++i) samples.add(conversation.ping_pong(bytes, count));
  return samples;
}

}  // namespace

std::unique_ptr<Conversation> raw_tcp(std::size_t largest_bytes) {
  sockaddr_in address = {};
  const int listener = listen_on_loopback(address);
  auto conversation = std::make_unique<Conversation>(
      largest_bytes, [&] { return connect_to(address); },
      [&] { return std::make_unique<RawTcp>(::accept(listener, nullptr, nullptr)); });
  ::close(listener);
  return conversation;
}

Samples raw_tcp_stream(std::size_t bytes, Direction direction, int repetitions,
                       std::uint64_t messages) {
  const auto conversation = raw_tcp(bytes);
  const std::uint64_t count = messages != 0 ? messages : messages_for(bytes);
  (void)conversation->stream(bytes, direction, count);  // opens the TCP window
  Samples samples;
  for (int i = 0; i < repetitions; ++i) samples.add(conversation->stream(bytes, direction, count));
  return samples;
}

Samples raw_tcp_ping_pong(std::size_t bytes, int repetitions, std::uint64_t rounds) {
  return ping_pong(*raw_tcp(bytes), bytes, repetitions, rounds);
}

Samples raw_memory_ping_pong(std::size_t bytes, int repetitions, std::uint64_t rounds) {
  return ping_pong(*raw_memory(bytes), bytes, repetitions, rounds);
}

double memcpy_once(std::size_t bytes, bool cold) {
  static std::vector<std::byte> source;
  static std::vector<std::byte> destination;
  const std::size_t pool_bytes = cold ? std::max(bytes, kBeyondCaches_bytes) : bytes;
  if (source.size() < pool_bytes) source.assign(pool_bytes, std::byte{1});
  if (destination.size() < pool_bytes) destination.assign(pool_bytes, std::byte{2});
  const std::size_t places = pool_bytes / bytes;
  // A cold run uses each place once, so that no place is used again before the rest of the pool has
  // passed through the caches.
  const std::size_t copies = cold ? places : messages_for(bytes);
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < copies; ++i) {
    const std::size_t at = i % places * bytes;
    std::memcpy(&destination[at], &source[at], bytes);
    asm volatile(""
                 :
                 : "r"(destination.data())
                 : "memory");  // keeps the compiler from merging the copies of a warm loop
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return static_cast<double>(bytes) * static_cast<double>(copies) / seconds * 1e-9;
}

Samples memcpy_rate(std::size_t bytes, bool cold, int repetitions) {
  (void)memcpy_once(bytes, cold);
  Samples samples;
  for (int i = 0; i < repetitions; ++i) samples.add(memcpy_once(bytes, cold));
  return samples;
}

}  // namespace ob::bench
