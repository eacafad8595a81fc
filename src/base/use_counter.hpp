#pragma once
// Counts the use of connections and of a device.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace ob {

/// The use so far.   Units: bytes, counts, ns
struct Use {
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t computations = 0;
  std::uint64_t compute_ns = 0;
  std::uint64_t waited_ns = 0;  ///< of computations, for their turns

  friend bool operator==(const Use&, const Use&) = default;
};

/// Counts what one part of the daemon uses, and passes it to the counters of the wholes that the
/// part belongs to. A number that is read beside others may be older or newer than they are.
/// Threads: any
class UseCounter {
 public:
  using Wholes = std::array<std::shared_ptr<UseCounter>, 2>;

  /// @param wholes nullptr: none
  explicit UseCounter(Wholes wholes = {}) : wholes_(std::move(wholes)) {}
  UseCounter(const UseCounter&) = delete;
  UseCounter& operator=(const UseCounter&) = delete;

  void received(std::uint64_t bytes) noexcept { add(&UseCounter::received_bytes_, bytes); }
  void sent(std::uint64_t bytes) noexcept { add(&UseCounter::sent_bytes_, bytes); }
  void waited(std::uint64_t ns) noexcept { add(&UseCounter::waited_ns_, ns); }
  void computed(std::uint64_t ns) noexcept {
    add(&UseCounter::computations_, 1);
    add(&UseCounter::compute_ns_, ns);
  }

  Use use() const noexcept {
    return {
        received_bytes_.load(std::memory_order_relaxed),
        sent_bytes_.load(std::memory_order_relaxed), computations_.load(std::memory_order_relaxed),
        compute_ns_.load(std::memory_order_relaxed), waited_ns_.load(std::memory_order_relaxed)};
  }

 private:
  using Number = std::atomic<std::uint64_t>;

  void add(Number UseCounter::*number, std::uint64_t more) noexcept {
    (this->*number).fetch_add(more, std::memory_order_relaxed);
    for (const auto& whole : wholes_) {
      if (whole != nullptr) whole->add(number, more);
    }
  }

  const Wholes wholes_;
  Number received_bytes_{0};
  Number sent_bytes_{0};
  Number computations_{0};
  Number compute_ns_{0};
  Number waited_ns_{0};
};

}  // namespace ob
