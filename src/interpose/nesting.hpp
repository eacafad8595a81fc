#pragma once
// Calls inside calls.

namespace ob::interpose {

/// Marks that this thread is inside a call that was counted: what the native library calls on its
/// way is its own business. The outermost mark counts.
class Nesting {
 public:
  Nesting() noexcept;
  ~Nesting();
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  bool outermost() const noexcept { return outermost_; }

 private:
  bool outermost_;
};

}  // namespace ob::interpose
