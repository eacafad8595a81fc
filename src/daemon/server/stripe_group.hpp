#pragma once
// The further streams of a connection that becomes striped, until all of them have joined.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/status.hpp"
#include "transport/striped_stream.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

struct StripingConfig {
  unsigned max_streams = transport::StripedStream::kMaxStreams;  ///< limit; 1: no more
  std::uint32_t block_bytes = 512U << 10;                        ///< measured: docs/benchmarks.md
  std::chrono::milliseconds join_timeout{10000};                 ///< until all streams have joined
};

/// Collects the streams of one connection.   Threads: any
class StripeGroup {
 public:
  StripeGroup(const StripingConfig& config, const wire::Stripes& terms);

  const wire::Stripes& terms() const noexcept { return terms_; }

  /// Takes the stream of `from`.
  /// Errors: invalid_argument for an index that does not exist; denied for one that has joined
  Status join(std::uint8_t index, transport::StripedStream& from);

  /// Waits until all streams have joined, answers them, and returns them in the order of their
  /// indexes. The wait ends early if the first stream receives something or ends. After any outcome
  /// no stream can join.
  /// Errors: deadline_exceeded; protocol_error; connection_lost
  Result<std::vector<std::unique_ptr<transport::Stream>>> gather(transport::Stream& first);

 private:
  Status wait_for_all(transport::Stream& first);

  const std::chrono::milliseconds join_timeout_;
  const wire::Stripes terms_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<transport::Stream>> streams_;  // stream i is at index i - 1
  std::size_t missing_;
  bool closed_ = false;
};

/// Holds the groups that wait for streams.   Threads: any
class StripeGroups {
 public:
  explicit StripeGroups(const StripingConfig& config) : config_(config) {}

  /// Makes a group of as many of the wanted streams as are granted; nullptr if none is.
  /// Errors: internal if there are no random numbers
  Result<std::shared_ptr<StripeGroup>> open(std::uint8_t extra_streams);

  /// Adds the stream to the group with the message's access key.
  /// Errors: denied for an unknown access key; those of StripeGroup::join()
  Status join(const wire::JoinStream& message, transport::StripedStream& from);

 private:
  const StripingConfig config_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<StripeGroup>> groups_;  // each is held by its connection
};

}  // namespace ob::daemon
