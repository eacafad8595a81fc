#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace ob {

/// Gives the calling thread a nice value, of which Linux has one for each thread: 19 to -20. A
/// positive one only lowers its priority. To raise it needs a privilege; without it, the thread
/// keeps its value.
/// Source: setpriority(2), nice(2)
inline void set_thread_nice(int value) noexcept {
  const auto thread = static_cast<id_t>(::gettid());
  if (value > 0 && ::getpriority(PRIO_PROCESS, thread) >= value) return;
  (void)::setpriority(PRIO_PROCESS, thread, value);
}

/// Asks the system to run the calling thread sooner after it wakes, on a core where others with
/// longer slices compute. It gets no larger part of the core. Linux before 6.12 ignores it.
/// @param slice_ns the time for which it wants to run at once, 0.1 to 100 ms
/// Source: sched_setattr(2); Documentation/scheduler/sched-eevdf.rst of the kernel
inline void set_thread_slice(std::uint64_t slice_ns) noexcept {
  struct {  // struct sched_attr; the headers of glibc and of the kernel exclude each other
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
  } attributes{};
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.runtime = slice_ns;
  (void)::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace ob
