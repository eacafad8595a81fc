#pragma once
// A client's queue, and the daemon's record of its commands.

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/ids.hpp"
#include "base/status.hpp"
#include "daemon/io/daemon_counters.hpp"
#include "daemon/memory/resource_account.hpp"
#include "daemon/memory/staged_writer.hpp"
#include "daemon/session/command_log.hpp"
#include "daemon/session/device_errors.hpp"
#include "daemon/session/queue_holds.hpp"
#include "device/gate.hpp"

namespace ob::daemon {

/// Commands are numbered from 1; `reached` trails `submitted`.
/// Threads: the connection that made the queue, except the atomics (any) and the log
struct SessionQueue {
  QueueId local;                ///< the device's id
  const void* owner = nullptr;  ///< the connection that made it; only it may use the queue
  std::uint64_t submitted = 0;
  /// `submitted` when the last reply or credit message was ordered
  std::uint64_t announced = 0;
  std::atomic<std::uint64_t> granted{0};  ///< commands whose credits were given back
  std::atomic<std::uint64_t> reached{0};  ///< commands known to be done
  Status failure;                         ///< that of the first command that failed at submission
  std::uint64_t failed_sequence = 0;      ///< the sequence of `failure`; 0 if there is none
  Reservation memory;                     ///< host memory for waiting commands
  Reservation thread;
  /// of the commands on the device; the writer's blocks use it, too
  std::shared_ptr<CommandLog> log = std::make_shared<CommandLog>();
  std::shared_ptr<DaemonCounters> counters;     ///< nullptr: nobody counts
  std::uint64_t told_sequence = 0;              ///< the last one of note_told()
  std::shared_ptr<const SessionErrors> errors;  ///< nullptr: the daemon is in no pool
  std::unique_ptr<StagedWriter> writer;         ///< if the host cannot see the device's memory
  std::shared_ptr<Gate> last_transfer;          ///< opens with the last send or receive; or nullptr
  QueueHolds holds;                             ///< the commands that hold the queue at gates
  QueueId transfers;  ///< device queue for reads that pass through the host
  /// host memory for those reads; the queue's answers run one at a time
  Reservation reader_memory;
  Reservation transfers_thread;

  /// Notes that the commands up to this one are done.   Threads: any
  void reach(std::uint64_t command) noexcept {
    std::uint64_t known = reached;
    while (known < command && !reached.compare_exchange_weak(known, command)) {
    }
  }
  /// Notes a failure that the client is told of, and the first time also that of the device.
  /// @param sequence of the command that failed; 0: there was none yet
  /// Threads: the queue's answers; before its first command, any
  void note_told(const Status& told, std::uint64_t sequence) {
    if (told.ok()) return;
    if (counters != nullptr) counters->failed_answers.add(told.code());
    const bool is_new = sequence == 0 || std::exchange(told_sequence, sequence) != sequence;
    if (errors != nullptr && is_new && !log->failed_outside()) errors->note(told);
  }
  void fail(const Status& status, std::uint64_t sequence) {
    failure = status;
    failed_sequence = sequence;
  }
};

/// A command that uses a buffer.
struct BufferUse {
  std::shared_ptr<SessionQueue> queue;
  std::uint64_t command = 0;
  bool open() const noexcept { return queue->reached < command; }
};

}  // namespace ob::daemon
