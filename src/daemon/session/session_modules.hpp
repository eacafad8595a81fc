#pragma once
// The modules of kernels that a session has loaded.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/ids.hpp"
#include "base/status.hpp"
#include "daemon/memory/resource_account.hpp"
#include "daemon/session/kernel_rights.hpp"
#include "device/device.hpp"
#include "device/kernels/module.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

/// Sends the answers to load_module on a thread of its own, because a client that takes no bytes
/// must not hold up the thread that compiles.
/// Threads: any
class ModuleAnswers {
 public:
  using Send = std::function<void(const ModuleReport&)>;

  /// Sends an answer soon; drops it after close().
  void post(Send send, ModuleReport report);
  /// Waits for the answer that is being sent, and drops the others.
  void close();

 private:
  void run();

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<std::pair<Send, ModuleReport>> waiting_;
  bool closed_ = false;
  std::thread thread_;  // started by the first answer
};

/// Threads: any
class SessionModules {
 public:
  SessionModules(Device& device, const Account& account);
  ~SessionModules();
  SessionModules(const SessionModules&) = delete;
  SessionModules& operator=(const SessionModules&) = delete;

  /// Lets the client use the kernels of the device, as far as the device runs any, and as the
  /// client's rights allow.
  /// Threads: before others
  void enable(const GrantedKernels& granted, std::uint32_t longest_kernel_ms);
  /// The modules that the client may load, and the reason if it may load none.
  const wire::KernelSupport& support() const noexcept { return support_; }

  /// Checks what can be checked before the text arrives.
  /// Errors: unsupported, denied if the client may not load it; out_of_memory
  Status may_load(const wire::LoadModule& message) const;
  /// Lets the device compile a module, or answers with the failure that `source` carries.
  /// @param text host memory that the module takes while it is loaded
  /// Errors: protocol_error if the id is taken
  Status load(ModuleId id, Result<ModuleSource> source, Reservation text,
              const ModuleAnswers::Send& answer);
  /// Does nothing if there is no such module.
  void unload(ModuleId id);
  /// Returns the device's id.   Errors: invalid_argument if unknown; the reason why it was not
  /// loaded
  Result<ModuleId> local(ModuleId id) const;

 private:
  struct Module {
    ModuleId local;
    Status failure;
    Reservation text;
  };

  bool takes(std::uint8_t kind) const noexcept;
  Result<ModuleId> submit(ModuleSource source, const ModuleAnswers::Send& answer);

  Device& device_;
  const Account account_;
  wire::KernelSupport support_;
  const std::shared_ptr<ModuleAnswers> answers_;
  mutable std::mutex mutex_;  // guards all below
  std::unordered_map<ModuleId, Module> modules_;
};

}  // namespace ob::daemon
