#pragma once

#include <pthread.h>
#include <signal.h>

namespace ob::transport::ucx {

/// Blocks all signals. Threads that start meanwhile inherit this, so that they never receive the
/// program's signals.
class BlockedSignals {
 public:
  BlockedSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace ob::transport::ucx
