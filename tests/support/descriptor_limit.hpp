#pragma once
// Another limit of open files for one test.

#include <sys/resource.h>

namespace ob::test {

/// Sets the soft limit of open files of this process, and restores it at the end.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t limit) {
    if (getrlimit(RLIMIT_NOFILE, &before_) != 0) return;
    const rlimit wanted{limit, before_.rlim_max};
    set_ = setrlimit(RLIMIT_NOFILE, &wanted) == 0;
  }
  ~DescriptorLimit() {
    if (set_) (void)setrlimit(RLIMIT_NOFILE, &before_);
  }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

  /// False if the limit is not permitted.
  bool set() const noexcept { return set_; }

 private:
  rlimit before_{};
  bool set_ = false;
};

}  // namespace ob::test
