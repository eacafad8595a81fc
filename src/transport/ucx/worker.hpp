#pragma once
// One UCX context with one worker and one endpoint: what UCX needs for one connection.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transport/stream.hpp"
#include "transport/ucx/library.hpp"

namespace ob::transport::ucx {

enum class MessageKind : unsigned { data = 0, credit = 1 };

/// A message's data that is still at its sender.
struct Announced {
  void* handle = nullptr;
  std::size_t size_bytes = 0;
};

/// What a worker calls while it progresses.
class MessageSink {
 public:
  virtual ~MessageSink() = default;
  /// `data` goes away after the call.
  virtual void arrived(MessageKind kind, std::span<const std::byte> header,
                       std::span<const std::byte> data) = 0;
  /// True if the data will be fetched; otherwise it is thrown away.
  virtual bool announced(std::span<const std::byte> header, Announced data) = 0;
};

/// Something UCX has been asked for. Stays where it is until done.
struct Operation {
  bool done = false;
  bool failed = false;
};

/// Threads: one at a time   After fork: the child may only abandon() it
class Worker {
 public:
  /// @param this_machine_only the peer is reached through loopback: UCX opens ports nowhere else
  /// @param sink outlives the worker
  /// Errors: unsupported without UCX, or after a fork from a process that had workers;
  /// out_of_memory, unavailable
  static Result<std::unique_ptr<Worker>> create(bool this_machine_only, MessageSink& sink);
  /// Ends whatever is under way.
  /// @pre not connected and without progress(), or set up on both sides: UCX 1.13 aborts the
  /// process if it has words of the set-up left to say
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  std::string version() const { return ucx_->version(); }
  /// Where peers connect to.
  Result<std::vector<std::byte>> address() const;
  /// Connects to the peer's address.   @pre not connected   Errors: unavailable
  Status connect(std::span<const std::byte> address);
  bool connected() const noexcept { return endpoint_ != nullptr; }
  /// True once the endpoint is set up on our side, or failed.
  bool set_up() const noexcept { return failure_ != nullptr || set_up_.done; }

  /// Sends a message; `header` and `data` stay as they are until the operation is done.
  void send(MessageKind kind, std::span<const std::byte> header, std::span<const std::byte> data,
            Operation& operation);
  /// Fetches announced data into `to`, of at least its size.
  void fetch(Announced data, std::byte* to, Operation& operation);

  /// Moves things on; false if there was nothing to do.
  bool progress() noexcept { return ucx_->ucp_worker_progress(worker_) != 0; }
  /// True if descriptor() will become readable with the next event; false: progress first.
  bool arm() noexcept { return ucx_->ucp_worker_arm(worker_) == UCS_OK; }
  int descriptor() const noexcept { return descriptor_; }
  /// Why UCX lost the peer; nullptr if it did not.
  const char* failure() const noexcept { return failure_; }

 private:
  struct Route {
    MessageSink* sink = nullptr;
    MessageKind kind = MessageKind::data;
  };

  Worker(const Library& ucx, MessageSink& sink);
  Status open(bool this_machine_only);
  Status set_routes();
  void close_endpoint() noexcept;
  void started(ucs_status_ptr_t request, Operation& operation) noexcept;
  Status failure_of(const char* what, ucs_status_t status) const;

  const Library* ucx_;
  Route routes_[2];
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  int descriptor_ = -1;
  Operation set_up_;
  const char* failure_ = nullptr;
};

}  // namespace ob::transport::ucx
