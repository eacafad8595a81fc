#pragma once
// One executor process, as the daemon sees it.

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/status.hpp"
#include "executor/mailbox.hpp"

namespace ob::executor {

/// The program of an executor and its arguments.
struct Program {
  std::string path;
  std::vector<std::string> arguments;
  /// The process gets a folder of its own as its last argument. It is removed after its end.
  bool private_folder = false;
};

/// A request of the daemon.
struct Order {
  std::uint32_t kind = 0;
  std::span<const std::byte> body;
  int descriptor = -1;  ///< sent with the request; -1: none
  bool cheap = false;   ///< takes less than about 100 us
  /// Gets whether the executor has begun the work, also if it ended before the answer; nullptr: is
  /// not told. An executor that was taken over can say what it likes.
  bool* began = nullptr;
  /// Gets how many parts of the work the executor says it has done (Service::tell_done()), also if
  /// it ended before the answer; nullptr: is not told.
  std::uint32_t* done = nullptr;
};

/// A running executor process. It has no descriptors but its mailbox and a socket, and dies with
/// the thread that started it.
/// Threads: any, except start()
class Process {
 public:
  /// Returns a failure as soon as the running request must end. It is called many times a second.
  /// @param had the time that the process had for the request (RunTime): on a busy machine, a short
  ///            request may take long
  using Stop = std::function<Status(std::chrono::nanoseconds had)>;

  /// Starts the program; its libraries load meanwhile.
  /// Threads: one that lives longer than the process
  /// Errors: unavailable if the program cannot be started
  static Result<std::shared_ptr<Process>> start(const Program& program);
  /// Kills the process and waits for its end.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Waits until the process is ready for requests. Kills it if that takes too long, or as soon as
  /// `stop` is set.
  /// Errors: unavailable, with its own reason if it gave one, or because of `stop`;
  ///         deadline_exceeded
  Status await_ready(std::chrono::milliseconds longest, const std::atomic<bool>& stop);

  /// Sends a request on a lane and waits for the answer. Kills the process if `stop` fails.
  /// Errors: the answer's; that of `stop`; device_error if the process has ended
  Status request(std::size_t lane, const Order& order, const Stop& stop);
  /// Sends a notice on a lane: at once, or with a later notice or request if the process is busy
  /// and many wait already.
  void notify(std::size_t lane, std::uint64_t notice) noexcept;

  /// Says how the process ended; empty if it has not.
  std::string how_it_ended();
  /// True if the process has ended, or is about to.
  bool ended() noexcept;
  void kill() noexcept;
  /// Ends the process if its private folder has more than kMostFolderFiles files, or more than
  /// kMostFolderBytes.
  void check_folder() noexcept;
  static constexpr std::uint64_t kMostFolderBytes = std::uint64_t{256} << 20;
  static constexpr std::size_t kMostFolderFiles = 4096;
  pid_t pid() const noexcept { return pid_; }
  /// Returns the private folder; empty if there is none.
  const std::string& folder() const noexcept { return folder_; }
  /// Returns a number that no other executor of this daemon has had.
  std::uint64_t number() const noexcept { return number_; }

 private:
  Process();
  Status open();
  Status spawn(const Program& program);
  Status make_folder();
  Status send(int descriptor) const;
  Status await_answer(Lane& lane, std::uint32_t number, const Stop& stop);
  Status ending();
  std::string end_of_it() const;
  bool reap(bool wait) noexcept;
  void send_notices(std::size_t lane);

  const std::uint64_t number_;
  Mailbox* mailbox_ = nullptr;
  Fd memory_;     // the mailbox's file, until the executor is started
  Fd socket_;     // our end
  Fd inherited_;  // the executor's end, until it is started
  pid_t pid_ = -1;
  std::string folder_;
  std::mutex lane_mutex_[Mailbox::kLanes];
  std::mutex notice_mutex_;
  std::deque<std::uint64_t> notices_[Mailbox::kLanes];  // not sent yet; guarded by notice_mutex_
  std::atomic<bool> killed_{false};
  std::mutex end_mutex_;  // guards all below
  bool reaped_ = false;
  int end_status_ = 0;  // of waitpid()
  std::string why_;     // why it was ended, if that was due to its behaviour
};

}  // namespace ob::executor
