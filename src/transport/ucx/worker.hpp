#pragma once
// One UCX context with one worker and one endpoint, for one connection.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transport/stream.hpp"
#include "transport/ucx/library.hpp"

namespace ob::transport::ucx {

enum class MessageKind : unsigned { data = 0, credit = 1 };

/// The data of a message while they are still at the sender.
struct Announced {
  void* handle = nullptr;
  std::size_t size_bytes = 0;
};

/// The callbacks of a worker while it makes progress.
class MessageSink {
 public:
  virtual ~MessageSink() = default;
  /// Receives a message; `data` is valid during the call only.
  virtual void arrived(MessageKind kind, std::span<const std::byte> header,
                       std::span<const std::byte> data) = 0;
  /// Receives an announcement; returns true if the data will be fetched, otherwise UCX discards
  /// them.
  virtual bool announced(std::span<const std::byte> header, Announced data) = 0;
};

/// A request to UCX. It must not move until it is done.
struct Operation {
  bool done = false;
  bool failed = false;
};

/// Threads: one at a time; after fork the child may only leak it
class Worker {
 public:
  /// @param this_machine_only lets UCX open ports on loopback only, where the peer is
  /// @param sink must outlive the worker
  /// Errors: unsupported without UCX, or after a fork from a process that had workers;
  ///         out_of_memory, unavailable
  static Result<std::unique_ptr<Worker>> create(bool this_machine_only, MessageSink& sink);
  /// Aborts all requests. The worker must be unconnected and without progress(), or set up on both
  /// sides: UCX 1.13 aborts the process if messages of its set-up are left.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  std::string version() const { return ucx_->version(); }
  /// Returns the address for peers.
  Result<std::vector<std::byte>> address() const;
  /// Connects to the peer's address.   Errors: unavailable
  /// @pre !connected()
  Status connect(std::span<const std::byte> address);
  bool connected() const noexcept { return endpoint_ != nullptr; }
  /// True once the endpoint is set up on our side, or has failed.
  bool set_up() const noexcept { return failure_ != nullptr || set_up_.done; }

  /// Sends a message; `header` and `data` must not change until the operation is done.
  void send(MessageKind kind, std::span<const std::byte> header, std::span<const std::byte> data,
            Operation& operation);
  /// Fetches announced data into `to`, which must have at least their size.
  void fetch(Announced data, std::byte* to, Operation& operation);

  /// Makes progress; false if there was nothing to do.
  bool progress() noexcept { return ucx_->ucp_worker_progress(worker_) != 0; }
  /// True if descriptor() will become readable with the next event; otherwise progress() comes
  /// first.
  bool arm() noexcept { return ucx_->ucp_worker_arm(worker_) == UCS_OK; }
  int descriptor() const noexcept { return descriptor_; }
  /// Returns the reason why UCX lost the peer; nullptr if it did not.
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
