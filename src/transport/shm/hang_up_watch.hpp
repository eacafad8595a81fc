#pragma once
// The thread that tells streams at once that their peers have died.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "base/fd.hpp"

namespace ob::transport::shm {

/// Watches the sockets of all streams of a listener, because a killed peer rings no bell. A client
/// has none: the drop-in library starts no thread for it.
/// Threads: any
class HangUpWatch {
 public:
  /// Returns nullptr if there is no descriptor or no thread left.
  static std::shared_ptr<HangUpWatch> create();
  /// In a forked child it releases only the child's descriptors.
  ~HangUpWatch();
  HangUpWatch(const HangUpWatch&) = delete;
  HangUpWatch& operator=(const HangUpWatch&) = delete;

  /// Calls `tell` once when the other end of the socket has been closed, on the watch's thread.
  /// `tell` must not block. The socket is open until remove().
  /// @returns a number for remove(); 0 if the socket cannot be watched
  std::uint64_t add(int socket, std::function<void()> tell);
  /// Afterwards `tell` is not running and will not be called.
  void remove(int socket, std::uint64_t number);

 private:
  HangUpWatch(Fd epoll, Fd end);
  void run();

  const Fd epoll_;
  const Fd end_;  // an eventfd that ends the thread
  const pid_t owner_;
  std::mutex mutex_;  // held while streams are told
  std::map<std::uint64_t, std::function<void()>> watched_;
  std::uint64_t last_ = 0;
  std::thread thread_;
};

}  // namespace ob::transport::shm
