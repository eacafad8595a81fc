#pragma once
// Accepted streams whose other side has sent nothing yet.

#include <sys/epoll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/fd.hpp"
#include "base/status.hpp"
#include "daemon/server/source_counts.hpp"
#include "transport/stream.hpp"

namespace ob::daemon {

/// Waits for the first bytes of many streams on one thread, so that a silent one costs a descriptor
/// and no thread. Keeps at most `total` streams, by the rule of SourceCounts: one that is
/// replaced is closed. A stream that stays silent is closed after `time`.
/// Threads: any
class SilentStreams {
 public:
  struct Limits {
    std::size_t total;
    std::chrono::milliseconds time;
  };
  /// Takes a stream whose first bytes have come. Must not block or throw.
  /// Threads: that of add(), or that of this object
  using Heard = std::function<void(std::unique_ptr<transport::Stream> stream)>;
  /// Learns that a stream of this source is closed: deadline_exceeded, or unavailable if it gives
  /// way to another. Must not throw.
  using Closed = std::function<void(const std::string& source, const Status& why)>;

  /// The limit of streams that a process should keep: a sixteenth of its descriptors, at most 1024.
  static std::size_t share_of_process();

  SilentStreams(const Limits& limits, Closed closed);
  /// Closes all streams.
  ~SilentStreams();
  SilentStreams(const SilentStreams&) = delete;
  SilentStreams& operator=(const SilentStreams&) = delete;

  /// Calls `heard` when the stream's first bytes have come, perhaps at once.
  /// @pre its descriptor is a socket that carries those bytes
  void add(std::unique_ptr<transport::Stream> stream, Heard heard);
  /// Closes all streams, and later ones at once.
  void close();

 private:
  struct Silent {
    std::unique_ptr<transport::Stream> stream;
    std::string source;
    transport::Deadline deadline;
    Heard heard;
  };
  using Streams = std::map<std::uint64_t, Silent>;  // in order of arrival
  enum class Bytes { none, some, ended };

  static Bytes bytes_of(const transport::Stream& stream) noexcept;
  void run();
  void take_event(std::uint64_t id);
  void close_late();
  int wait_ms();
  Streams::node_type make_room_for(const std::string& source);  // @pre mutex_ is held
  Streams::node_type remove(Streams::iterator at);              // @pre mutex_ is held

  const Limits limits_;
  const Closed closed_;
  const Fd epoll_;
  const Fd wake_;
  std::mutex mutex_;  // guards all below
  Streams streams_;
  SourceCounts counts_;
  std::uint64_t last_id_ = 0;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace ob::daemon
