#pragma once
// Threads of Outboard inside a program that does not know about them.

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace ob {

/// Starts a thread that blocks all signals, so that the program's handlers run elsewhere. Returns
/// an empty thread if the system has no more, or no memory.
template <class Work>
std::thread quiet_thread(Work&& work) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread made;
  try {
    made = std::thread(std::forward<Work>(work));
  } catch (...) {
    // No thread (std::system_error) or no memory for its state (std::bad_alloc). The empty thread
    // reports both. The caller may be noexcept and needs its signals back.
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return made;
}

}  // namespace ob
