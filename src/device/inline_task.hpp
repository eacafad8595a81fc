#pragma once
// A command of a host queue, stored without malloc.

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "base/status.hpp"
#include "device/device.hpp"

namespace ob {

/// A move-only `Status(QueueReport&)` that stores its captures inside the object.
class InlineTask {
 public:
  /// Room for a routine call, the largest command: 24 arguments of 24 bytes and its buffers.
  static constexpr std::size_t kCaptureBytes = 976;

  InlineTask() noexcept = default;

  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): the constraint excludes InlineTask
  // itself
  template <class Work>
  requires(!std::is_same_v<std::remove_cvref_t<Work>, InlineTask>) explicit InlineTask(
      Work&& work) {
    using Held = std::remove_cvref_t<Work>;
    static_assert(sizeof(Held) <= kCaptureBytes, "a queue command captures too much");
    static_assert(alignof(Held) <= alignof(std::max_align_t));
    static_assert(std::is_nothrow_move_constructible_v<Held>);
    new (storage_) Held(std::forward<Work>(work));
    operations_ = &kOperations<Held>;
  }

  InlineTask(InlineTask&& other) noexcept { take(other); }
  InlineTask& operator=(InlineTask&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~InlineTask() { reset(); }

  bool empty() const noexcept { return operations_ == nullptr; }
  /// Runs the command.
  /// @pre !empty()
  Status operator()(QueueReport& report) {
    OB_EXPECT(!empty());
    return operations_->run(storage_, report);
  }

 private:
  struct Operations {
    Status (*run)(void* held, QueueReport& report);
    void (*relocate)(void* from, void* to) noexcept;
    void (*destroy)(void* held) noexcept;
  };

  template <class Held>
  static constexpr Operations kOperations{
      [](void* held, QueueReport& report) { return (*static_cast<Held*>(held))(report); },
      [](void* from, void* to) noexcept {
        new (to) Held(std::move(*static_cast<Held*>(from)));
        static_cast<Held*>(from)->~Held();
      },
      [](void* held) noexcept { static_cast<Held*>(held)->~Held(); }};

  void take(InlineTask& other) noexcept {
    if (other.operations_ != nullptr) other.operations_->relocate(other.storage_, storage_);
    operations_ = std::exchange(other.operations_, nullptr);
  }
  void reset() noexcept {
    if (operations_ != nullptr) operations_->destroy(storage_);
    operations_ = nullptr;
  }

  const Operations* operations_ = nullptr;
  alignas(std::max_align_t) std::byte storage_[kCaptureBytes];
};

}  // namespace ob
