// The functions of the C library by which a compiler's library starts a linker. They replace those
// of the C library in outboard-executor: there, a process of its own runs linkers.

#include <errno.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "executor/linker.hpp"

namespace {

// No process has this number: it is above the limit of Linux.
constexpr pid_t kLinker = (1 << 30) + 1;

thread_local int ended_with = 0;  // of the last linker of this thread

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int posix_spawn(
    pid_t* pid, const char* path, const posix_spawn_file_actions_t* /*actions*/,
    const posix_spawnattr_t* /*attributes*/, char* const argv[], char* const /*envp*/[]) noexcept
    try {
  if (!ob::executor::has_linker_service()) return EPERM;
  std::vector<std::string> arguments{path};
  for (char* const* each = argv + 1; argv[0] != nullptr && *each != nullptr; ++each) {
    arguments.emplace_back(*each);
  }
  const auto status = ob::executor::run_linker(arguments);
  if (!status.ok()) return status.status().code() == ob::Code::denied ? EACCES : ECHILD;
  ended_with = *status;
  *pid = kLinker;
  return 0;
} catch (const std::exception&) {
  return ENOMEM;
}

__attribute__((visibility("default"))) pid_t wait4(pid_t pid, int* status, int options,
                                                   struct rusage* usage) noexcept {
  if (pid != kLinker) {
    return static_cast<pid_t>(::syscall(SYS_wait4, pid, status, options, usage));
  }
  if (status != nullptr) *status = ended_with;
  if (usage != nullptr) *usage = {};
  return pid;
}

}  // extern "C"
