#pragma once
// Keeps the program's errno and its state of cancellation.

#include <errno.h>
#include <pthread.h>

namespace ob::interpose {

/// An object lives while the code of this library runs. Its destructor restores errno. The thread
/// cannot be cancelled meanwhile, because BLAS has no cancellation points and unwinding must not
/// start in this library.
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
