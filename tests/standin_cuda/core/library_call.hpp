#pragma once
// The common part of cuBLAS and cuSOLVER calls: handles, statuses, and the rules for both.

#include <driver_types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "core/access.hpp"
#include "core/devices.hpp"
#include "core/faults.hpp"
#include "core/live_set.hpp"
#include "core/order.hpp"
#include "core/report.hpp"
#include "core/settings.hpp"
#include "core/stream.hpp"

namespace standin {

/// The object behind a handle. It belongs to the device that was current when it was made.
struct LibraryHandle {
  int device = 0;
  cudaStream_t stream = nullptr;
  std::atomic<int> users{0};  ///< threads inside a call with this handle
};

// A `Library` is a struct with
// using Handle       a LibraryHandle with further members of this library
// using Status       its enumeration, with the constants kSuccess, kNotInitialized,
// kInvalidValue, kNotSupported, kExecutionFailed, kAllocFailed,
// kFault (the status of an injected failure whose rule names no error)
//   static LiveSet<Handle>& handles()

/// Functions that create, destroy and change handles, under the names of the two libraries.
template <class Library>
struct Handling {
  using Handle = typename Library::Handle;
  using Status = typename Library::Status;

  /// Counts the call.
  static Status enter(const char* call) {
    const int fault = Faults::instance().next(call);
    if (fault == 0) return Library::kSuccess;
    return fault > 0 ? static_cast<Status>(fault) : Library::kAllocFailed;
  }

  template <class Opaque>
  static Status create(const char* call, Opaque* handle) {
    const Status entered = enter(call);
    if (entered != Library::kSuccess) return entered;
    if (settings().no_driver) return Library::kNotInitialized;
    auto object = std::make_shared<Handle>();
    object->device = Devices::current();
    *handle = static_cast<Opaque>(Library::handles().add(std::move(object)));
    return Library::kSuccess;
  }

  static Status destroy(const char* call, const void* handle) {
    const auto object = Library::handles().remove(handle);
    if (object != nullptr && object->device == Devices::current()) return Library::kSuccess;
    Report::instance().violation(call, object == nullptr ? "no handle" : "of another device");
    return Library::kNotInitialized;
  }

  /// Calls use(Handle&), which returns the status.
  template <class Use>
  static Status with(const char* call, const void* handle, Use use) {
    const Status entered = enter(call);
    if (entered != Library::kSuccess) return entered;
    const auto object = Library::handles().find(handle);
    if (object != nullptr) return use(*object);
    Report::instance().violation(call, "no handle");
    return Library::kNotInitialized;
  }
  template <class Value>
  static Status set(const char* call, const void* handle, Value Handle::*member, Value value) {
    return with(call, handle, [&](Handle& object) {
      object.*member = value;
      return Library::kSuccess;
    });
  }
  template <class Value>
  static Status get(const char* call, const void* handle, Value Handle::*member, Value* value) {
    return with(call, handle, [&](Handle& object) {
      *value = object.*member;
      return Library::kSuccess;
    });
  }

  static Status set_stream(const char* call, const void* handle, cudaStream_t stream) {
    return with(call, handle, [&](Handle& object) {
      const auto found = Devices::instance().stream(stream);
      if (found == nullptr || (stream != nullptr && found->device() != object.device)) {
        Report::instance().violation(call, "no stream of the handle's device");
        return Library::kInvalidValue;
      }
      object.stream = stream;
      return Library::kSuccess;
    });
  }
};

/// One call. It lives as long as the function that it belongs to. The first broken rule decides the
/// status.
template <class Library>
class LibraryCall {
 public:
  using Handle = typename Library::Handle;
  using Status = typename Library::Status;

  LibraryCall(const char* name, const void* handle)
      : handle_(Library::handles().find(handle)),
        access(name, handle_ == nullptr ? 0 : handle_->device) {
    const int fault = Faults::instance().next(name);
    Report& report = Report::instance();
    if (handle_ == nullptr) {
      report.violation(name, "no handle");
      status_ = Library::kNotInitialized;
      return;
    }
    if (handle_->users++ != 0) report.violation(name, "two threads use one handle at a time");
    Devices& devices = Devices::instance();
    if (handle_->device != Devices::current()) {
      report.violation(name, "the handle is of another device than the current one");
      status_ = Library::kExecutionFailed;
    }
    stream_ = handle_->stream == nullptr ? devices.default_stream(handle_->device)
                                         : devices.stream(handle_->stream);
    if (stream_ == nullptr) {
      report.violation(name, "the handle's stream is gone");
      status_ = Library::kExecutionFailed;
    }
    if (devices.sticky(handle_->device) != cudaSuccess) status_ = Library::kExecutionFailed;
    if (fault != 0) status_ = fault > 0 ? static_cast<Status>(fault) : Library::kFault;
  }
  ~LibraryCall() {
    if (handle_ != nullptr) --handle_->users;
  }
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;

  /// Checks an argument that the real library checks, too.
  void need(bool condition, const char* what) {
    if (condition || !good()) return;
    Report::instance().violation(access.call(), std::string("not ") + what);
    status_ = Library::kInvalidValue;
  }
  /// Converts a size for OpenBLAS, whose integers have 32 bits.
  int size(std::int64_t n) {
    if (n <= std::numeric_limits<int>::max()) return static_cast<int>(n);
    if (good()) status_ = Library::kNotSupported;
    return 0;
  }

  /// Returns true if no rule was broken so far.
  bool good() const noexcept { return status_ == Library::kSuccess && access.ok(); }
  Status status() const noexcept { return access.ok() ? status_ : Library::kExecutionFailed; }

  Status submit(std::function<void()> work) {
    if (!good()) return status();
    Order::instance().submit(stream_, access, [work = std::move(work)] {
      work();
      return cudaSuccess;
    });
    return Library::kSuccess;
  }

 protected:
  const std::shared_ptr<Handle> handle_;
  Status status_ = Library::kSuccess;
  std::shared_ptr<Stream> stream_;

 public:
  Access access;  ///< the operands
};

}  // namespace standin
