#pragma once
// Keeps errno and cancellation as the program has them.

#include <errno.h>
#include <pthread.h>

namespace ob::interpose {

/// While it lives our own code runs: errno is as before afterwards, and the thread cannot be
/// cancelled meanwhile, since BLAS has no cancellation points and unwinding must not start in ours.
/// Threads: constructed and destroyed on one thread. Must not span the native library's run.
class PreserveErrno {
 public:
  PreserveErrno() noexcept : errno_(errno) {
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
  }
  ~PreserveErrno() {
    int ignored = 0;
    (void)pthread_setcancelstate(cancel_state_, &ignored);
    errno = errno_;
  }
  PreserveErrno(const PreserveErrno&) = delete;
  PreserveErrno& operator=(const PreserveErrno&) = delete;

 private:
  int errno_;
  int cancel_state_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace ob::interpose
