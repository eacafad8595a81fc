#pragma once
// A thread of ours in a program that knows nothing of it.

#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <thread>
#include <utility>

namespace ob {

/// A thread that takes none of the program's signals; an empty one if there are too many.
template <class Work>
std::thread quiet_thread(Work&& work) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread made;
  try {
    made = std::thread(std::forward<Work>(work));
  } catch (const std::system_error&) {  // the empty one says so
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return made;
}

}  // namespace ob
