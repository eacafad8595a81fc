#pragma once
// A process that changes shared memory while a test uses it, as a client may do with a mapped
// buffer. A thread would be a race in the eyes of sanitizers.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace ob::test {

/// Sets `count` words to `one` and to `other` in turns until it is destroyed.
/// Memory: shared between processes (MAP_SHARED)
class HostileWriter {
 public:
  HostileWriter(void* words, std::size_t count, std::int64_t one, std::int64_t other)
      : writer_(fork()) {
    if (writer_ < 0) std::abort();
    if (writer_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto* const out = static_cast<volatile std::int64_t*>(words);
    for (;;) {
      for (std::size_t i = 0; i < count; ++i) out[i] = one;
      for (std::size_t i = 0; i < count; ++i) out[i] = other;
    }
  }
  ~HostileWriter() {
    kill(writer_, SIGKILL);
    waitpid(writer_, nullptr, 0);
  }
  HostileWriter(const HostileWriter&) = delete;
  HostileWriter& operator=(const HostileWriter&) = delete;

 private:
  const pid_t writer_;
};

}  // namespace ob::test
