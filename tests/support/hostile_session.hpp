#pragma once
// A session that sends hostile calls to a device and looks for their effects.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "support/hostile_calls.hpp"
#include "support/hostile_judge.hpp"

namespace ob::test {

/// How commands reach the device: without the checks that a friendly client makes.
/// Threads: one at a time
class HostileWay {
 public:
  virtual ~HostileWay() = default;
  virtual Status call(QueueId queue, const Descriptor& routine, const Argument* arguments) = 0;
  /// Makes a plan, executes it and destroys it.
  virtual Status transform(QueueId queue, const FftPlan& plan, BufferRef input,
                           BufferRef output) = 0;
  virtual Result<BufferId> allocate(std::uint64_t size_bytes) = 0;
  virtual Status free(BufferId buffer) = 0;
  /// Waits for the queue's commands, and ends those that do not end by themselves.
  virtual Status wait(QueueId queue) = 0;
};

/// The effects of one call.
struct HostileOutcome {
  std::string text;       ///< the call, for people
  std::string details;    ///< its arguments, if there is more to say than its status
  Status status;          ///< the device's answer
  std::string violation;  ///< a guarantee that does not hold; empty if all do
  /// The call changed other buffers of its own session. This may happen if the client changes
  /// numbers while a library iterates on them (docs/security.md).
  bool own_damage = false;
  bool executor_ended = false;
  double took_ms = 0;
};

/// Owns the buffers that calls may name, and knows their contents: a call may change its results
/// only, and those only if the device accepts it.
/// Threads: one at a time
class HostileSession {
 public:
  /// @param device where the buffers lie; outlives the session
  static Result<std::unique_ptr<HostileSession>> create(Device& device, HostileWay& way,
                                                        const Account& account, BufferId foreign);
  ~HostileSession();
  HostileSession(const HostileSession&) = delete;
  HostileSession& operator=(const HostileSession&) = delete;

  /// Sends the call that the bytes describe, and waits for it.
  /// Errors: those of the connection
  Result<HostileOutcome> run(std::span<const std::byte> bytes);
  /// Sends a legal call that takes microseconds.
  Status probe();
  const HostileBuffers& buffers() const noexcept { return buffers_; }

 private:
  HostileSession(Device& device, HostileWay& way) : device_(device), way_(way) {}
  Status open(const Account& account, BufferId foreign);
  Result<BufferId> known_buffer(std::uint64_t seed);
  Status upload(const HostileCall& call);
  Status submit(const HostileCall& call);
  /// Compares buffers with what is known of them, and learns what has changed.
  Result<std::string> inspect(const HostileCall& call, const Judgement& judgement, bool all);
  std::vector<BufferId> inspected(const HostileCall& call, bool all) const;
  std::optional<KnownBuffer> find(BufferId buffer) const;
  std::byte* scribbled_memory(const HostileCall& call);

  Device& device_;
  HostileWay& way_;
  QueueId queue_;
  HostileBuffers buffers_;
  std::map<std::uint64_t, std::vector<std::byte>> known_;  // by id
  std::uint64_t calls_ = 0;
};

/// Submits to a device of this process.
class DirectWay final : public HostileWay {
 public:
  DirectWay(Device& device, const Account& account) : device_(device), account_(account) {}
  Status call(QueueId queue, const Descriptor& routine, const Argument* arguments) override;
  Status transform(QueueId queue, const FftPlan& plan, BufferRef input, BufferRef output) override;
  Result<BufferId> allocate(std::uint64_t size_bytes) override;
  Status free(BufferId buffer) override;
  Status wait(QueueId queue) override;
  /// True if a call did not end by itself. Its queue runs nothing any more.
  bool abandoned() const noexcept { return abandoned_; }

 private:
  Device& device_;
  const Account account_;
  bool abandoned_ = false;
};

}  // namespace ob::test
