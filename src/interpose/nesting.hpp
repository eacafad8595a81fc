#pragma once
// Detects calls that are made inside other calls.

namespace ob::interpose {

/// Marks that this thread is inside a call that was counted. Calls that the native library makes
/// meanwhile are neither counted nor remote. The outermost mark counts.
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
