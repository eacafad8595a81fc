#pragma once
// The right of other sessions to write or read one range of a buffer.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.hpp"
#include "daemon/memory/device_buffer.hpp"
#include "daemon/memory/resource_account.hpp"
#include "device/device.hpp"
#include "device/gate.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

/// The use that a grant permits.
struct GrantTerms {
  std::uint64_t offset_bytes = 0;  ///< of the range in the buffer
  std::uint64_t size_bytes = 0;
  std::uint32_t may = 0;   ///< wire::kMayRead, wire::kMayWrite
  std::uint32_t uses = 0;  ///< 0: any number
  std::string user;        ///< empty: everybody with the secret
  std::chrono::steady_clock::time_point end;
  /// True once the session that made it may not go on (Session::over()); empty: never.
  std::function<bool()> over = {};
};

/// Checks every use, and ends with its session, its buffer, its time, or when it is revoked.
/// Threads: any
class Grant {
 public:
  using Clock = std::chrono::steady_clock;
  /// Waits until earlier commands of the owner do not use the buffer any more; ends with the
  /// failure of `check`, which is called from time to time.
  using Settle = std::function<Status(const std::function<Status()>& check)>;

  Grant(Device& device, const wire::Token& secret, GrantTerms terms,
        std::shared_ptr<DeviceBuffer> buffer, std::shared_ptr<ResourceAccount> host_memory,
        Settle settle);

  const wire::Token& secret() const noexcept { return secret_; }

  /// One put or get. The grant waits for its end when it is revoked.
  class Use {
   public:
    ~Use() { grant_.end(*this); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    Device& device() const noexcept { return grant_.device_; }
    const std::shared_ptr<DeviceBuffer>& buffer() const noexcept { return grant_.buffer_; }
    const std::shared_ptr<ResourceAccount>& host_memory() const noexcept {
      return grant_.host_memory_;
    }
    /// The part of the buffer that the use is about.
    const Region& region() const noexcept { return region_; }
    /// Errors: denied once the grant is revoked
    Status check() const { return grant_.check_valid(); }
    /// Waits for earlier commands of the owner.   Errors: check(), and that of `also`
    Status settle(const std::function<Status()>& also) const;
    /// Counts a put whose data is in the buffer.
    /// Errors: denied if the grant was revoked before
    Status land();

   private:
    friend class Grant;
    Use(Grant& grant, std::shared_ptr<Grant> keeps, const Region& region,
        std::function<void()> stop)
        : grant_(grant), keeps_(std::move(keeps)), region_(region), stop_(std::move(stop)) {}
    Grant& grant_;
    const std::shared_ptr<Grant> keeps_;
    const Region region_;
    const std::function<void()> stop_;
  };

  /// Begins a use, and counts it.
  /// @param may wire::kMayRead or wire::kMayWrite
  /// @param user the proven user who asks; empty: nobody is proven
  /// @param stop ends the use early; called on any thread
  /// Errors: denied for a grant that does not permit it; invalid_argument beyond the range
  static Result<std::unique_ptr<Use>> begin(const std::shared_ptr<Grant>& grant, std::uint32_t may,
                                            const wire::GrantRange& range, const std::string& user,
                                            std::function<void()> stop);

  /// Returns a gate that opens when so many puts have landed, or as failed when the grant ends.
  std::shared_ptr<const Gate> landed(std::uint64_t count);
  /// Ends the grant, and waits for its uses; after a moment it ends them early.
  void revoke();

 private:
  bool ended() const { return revoked_ || (terms_.over && terms_.over()); }  // @pre mutex_ is held
  Status check_valid() const;
  Status admit(std::uint32_t may, const wire::GrantRange& range, const std::string& user);
  void end(const Use& use);

  Device& device_;
  const wire::Token secret_;
  const GrantTerms terms_;
  const std::shared_ptr<DeviceBuffer> buffer_;
  const std::shared_ptr<ResourceAccount> host_memory_;
  const Settle settle_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable ended_;
  bool revoked_ = false;
  std::uint32_t used_ = 0;
  std::uint64_t landed_ = 0;
  std::list<const Use*> uses_;
  std::multimap<std::uint64_t, std::shared_ptr<Gate>> waiting_;  // by the count of puts
};

}  // namespace ob::daemon
