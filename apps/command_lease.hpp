#pragma once
// The accelerators of a pool that a command holds while it runs.

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/status.hpp"
#include "pool/lease_client.hpp"

namespace ob::apps {

/// A lease of devices that are free now, or after a moment. A thread renews it; the end of the
/// object gives the devices back. A lease that cannot be renewed or given back ends after its lease
/// time.
/// Threads: one
class CommandLease {
 public:
  struct Wish {
    std::string manager;    ///< the URL of one manager or more
    std::string key;        ///< a folder; empty: none
    pool::LeaseWish lease;  ///< without the last three, which are set here
    std::string folder;     ///< a private one of this user, for answer()
  };

  /// Names a lease, and asks nobody yet.   Errors: internal
  static Result<std::unique_ptr<CommandLease>> named(Wish wish);
  /// Errors: busy if the devices are not free within 0.15 s; those of LeaseClient and of
  /// load_key(). Nothing is held then, unless the manager was silent: a lease that it gave later
  /// ends after its lease time.
  Status acquire();
  /// Acquires in a thread, while the command runs. Says if that fails.
  /// @pre the environment does not change until the end of the object
  void begin() noexcept;
  /// Ends the thread: nothing is written into the folder from here on.
  void stop_renewing() noexcept;
  ~CommandLease();
  CommandLease(const CommandLease&) = delete;
  CommandLease& operator=(const CommandLease&) = delete;

  /// The name that the manager knows it by.
  const std::string& id() const noexcept { return id_; }
  /// The file of pool::hand_over(). Its name is the lease's.
  std::string answer() const { return wish_.folder + "/" + id_; }

 private:
  using Clock = std::chrono::steady_clock;

  CommandLease(Wish wish, std::string id) : wish_(std::move(wish)), id_(std::move(id)) {}
  template <class Work>
  Status start(Work work);
  Result<Clock::duration> take();
  void take_and_keep() noexcept;
  void give_up(const Status& why);
  /// Waits for the end of the object, so long at most.
  bool ends_within(Clock::duration pause);
  void keep(Clock::duration pause) noexcept;
  Clock::duration renew();

  const Wish wish_;
  const std::string id_;
  // The thread has these until it ends.
  std::optional<pool::LeaseClient> manager_;
  bool is_held_ = false;
  bool was_silent_ = false;  // when it was asked for the lease

  std::mutex mutex_;  // guards ending_
  std::condition_variable ends_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace ob::apps
