#include "executor/sandbox.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <span>

#include "base/fd.hpp"
#include "base/sanitizer.hpp"

namespace ob::executor {
namespace {

constexpr rlim_t kMostDescriptors = 64;
// The libraries of a compiler, and the files that it links.
constexpr rlim_t kMostCompilerDescriptors = 256;
constexpr rlim_t kMostFileBytes = rlim_t{64} << 20;
// This limits the first thread only. The stacks of others are private memory like any other.
constexpr rlim_t kMostStackBytes = rlim_t{64} << 20;

Status refused(const char* step) {
  return {Code::unavailable,
          std::string("cannot restrict an executor: ") + step + " (" + std::strerror(errno) + ")"};
}

void set_limit(__rlimit_resource resource, rlim_t value) noexcept {
  const rlimit limit{value, value};
  (void)::setrlimit(resource, &limit);
}

// Adds the right to read what is beneath `path`; a path that does not exist needs none.
void allow_reading(int rules, const char* path, std::uint64_t rights) noexcept {
  const Fd parent(::open(path, O_PATH | O_CLOEXEC));
  if (!parent) return;
  landlock_path_beneath_attr beneath{};
  beneath.allowed_access = rights;
  beneath.parent_fd = parent.get();
  (void)::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
}

// Older kernels have no Landlock. The system calls that open files are refused anyway once the
// libraries are open.
Status restrict_paths(const std::vector<std::string>& readable, const std::string& writable) {
  constexpr std::uint64_t kFirstAbi = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = kFirstAbi;
  if (!writable.empty()) attributes.handled_access_fs |= LANDLOCK_ACCESS_FS_REFER;
  const Fd ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  if (!ruleset) return {};
  const int rules = ruleset.get();
  constexpr std::uint64_t kLibraries =
      LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_EXECUTE;
  for (const char* path : {"/usr", "/lib", "/lib64", "/opt", "/etc/alternatives"}) {
    allow_reading(rules, path, kLibraries);
  }
  for (const std::string& path : readable) allow_reading(rules, path.c_str(), kLibraries);
  for (const char* path : {"/sys/devices/system", "/sys/kernel/mm"}) {
    allow_reading(rules, path, LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR);
  }
  for (const char* path : {"/etc/ld.so.cache", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat"}) {
    allow_reading(rules, path, LANDLOCK_ACCESS_FS_READ_FILE);
  }
  if (!writable.empty()) {
    for (const char* path : {"/etc/OpenCL", "/proc/self", "/sys/fs/cgroup"}) {
      allow_reading(rules, path, LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR);
    }
    allow_reading(rules, "/dev/null", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE);
    constexpr std::uint64_t kOwnFiles =
        LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_WRITE_FILE |
        LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_DIR |
        LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REFER;
    allow_reading(rules, writable.c_str(), kOwnFiles);
  }
  allow_reading(rules, "/proc/self", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR);
  const long done = ::syscall(SYS_landlock_restrict_self, rules, 0);
  return done == 0 ? Status() : refused("Landlock");
}

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "Add the AUDIT_ARCH_ constant of this processor (linux/audit.h)."
#endif

// The calls of computing threads. Reading and writing reach open descriptors only.
constexpr int kAllowed[] = {
    SYS_brk,           SYS_mremap,         SYS_munmap,          SYS_madvise,
    SYS_mincore,       SYS_futex,          SYS_sched_yield,     SYS_nanosleep,
    SYS_clock_gettime, SYS_clock_getres,   SYS_gettimeofday,    SYS_clock_nanosleep,
    SYS_getpid,        SYS_gettid,         SYS_getrusage,       SYS_getcpu,
    SYS_rt_sigaction,  SYS_rt_sigprocmask, SYS_rt_sigreturn,    SYS_sigaltstack,
    SYS_exit,          SYS_exit_group,     SYS_set_robust_list, SYS_rseq,
    SYS_read,          SYS_write,          SYS_writev,          SYS_close,
    SYS_fstat,         SYS_lseek,          SYS_recvmsg,         SYS_restart_syscall,
    SYS_membarrier,    SYS_sysinfo,        SYS_uname,           SYS_sched_getaffinity,
    SYS_get_mempolicy, SYS_getuid,         SYS_geteuid,         SYS_getgid,
    SYS_getegid,
};

constexpr std::size_t kMostInstructions = 256;

// A program of the kernel's packet filter, which decides about system calls.
class Filter {
 public:
  void add(std::uint16_t code, std::uint32_t k, std::uint8_t yes = 0, std::uint8_t no = 0) {
    if (size_ < kMostInstructions) program_[size_++] = {code, yes, no, k};
  }
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)); }
  void decide(std::uint32_t action) { add(BPF_RET | BPF_K, action); }
  // Runs the next `count` instructions only if the loaded value is, or has, `k`.
  void if_equal(std::uint32_t k, std::uint8_t count) {
    add(BPF_JMP | BPF_JEQ | BPF_K, k, 0, count);
  }
  void if_any_bit(std::uint32_t k, std::uint8_t count) {
    add(BPF_JMP | BPF_JSET | BPF_K, k, 0, count);
  }
  void if_no_bit(std::uint32_t k, std::uint8_t count) {
    add(BPF_JMP | BPF_JSET | BPF_K, k, count, 0);
  }

  bool install() {
    sock_fprog program{static_cast<unsigned short>(size_), program_};
    return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) ==
           0;
  }

 private:
  sock_filter program_[kMostInstructions] = {};
  std::size_t size_ = 0;
};

// The low half of an argument of a system call; all that we look at fit it.
constexpr std::size_t argument(unsigned index) {
  return offsetof(seccomp_data, args) + std::size_t{8} * index;
}

// The accesses of a compiler and a linker to files, as far as Landlock permits them.
constexpr int kFileCalls[] = {
    SYS_openat,     SYS_newfstatat, SYS_statx,           SYS_faccessat, SYS_faccessat2,
    SYS_readlinkat, SYS_getdents64, SYS_mkdirat,         SYS_unlinkat,  SYS_renameat,
    SYS_renameat2,  SYS_pread64,    SYS_pwrite64,        SYS_ftruncate, SYS_fallocate,
    SYS_getcwd,     SYS_umask,      SYS_utimensat,       SYS_flock,     SYS_dup,
    SYS_dup3,       SYS_fcntl,      SYS_getrandom,       SYS_fchmod,    SYS_fchmodat,
    SYS_fstatfs,    SYS_statfs,     SYS_fsync,           SYS_fdatasync, SYS_readv,
    SYS_pipe2,      SYS_times,      SYS_set_tid_address,
#ifdef SYS_open
    SYS_open,       SYS_stat,       SYS_lstat,           SYS_access,    SYS_readlink,
    SYS_mkdir,      SYS_rmdir,      SYS_unlink,          SYS_rename,    SYS_chmod,
    SYS_dup2,       SYS_arch_prctl, SYS_utimes,          SYS_utime,     SYS_pipe,
    SYS_time,
#endif
};

void allow_if(Filter& filter, int call, unsigned index, std::uint32_t value) {
  filter.if_equal(static_cast<std::uint32_t>(call), 4);
  filter.load(argument(index));
  filter.if_equal(value, 1);
  filter.decide(SECCOMP_RET_ALLOW);
  filter.decide(SECCOMP_RET_ERRNO | EPERM);
}

// Memory is never executable. New memory is private and does not grow like a stack, so that the
// limit of private memory holds for it.
void add_memory_conditions(Filter& filter) {
  filter.if_equal(SYS_mprotect, 4);
  filter.load(argument(2));
  filter.if_no_bit(PROT_EXEC, 1);
  filter.decide(SECCOMP_RET_ALLOW);
  filter.decide(SECCOMP_RET_ERRNO | EPERM);
  constexpr std::uint32_t kSharedAndNew = MAP_SHARED | MAP_ANONYMOUS;
  filter.if_equal(SYS_mmap, 10);
  filter.load(argument(2));
  filter.if_any_bit(PROT_EXEC, 1);
  filter.decide(SECCOMP_RET_ERRNO | EPERM);
  filter.load(argument(3));
  filter.if_any_bit(MAP_GROWSDOWN, 1);
  filter.decide(SECCOMP_RET_ERRNO | EPERM);
  filter.add(BPF_ALU | BPF_AND | BPF_K, kSharedAndNew);
  filter.add(BPF_JMP | BPF_JEQ | BPF_K, kSharedAndNew, 1, 0);
  filter.decide(SECCOMP_RET_ALLOW);
  filter.decide(SECCOMP_RET_ERRNO | EPERM);
}

// A new task is a thread of this process.
void add_conditions(Filter& filter) {
  add_memory_conditions(filter);
  filter.if_equal(SYS_clone, 4);
  filter.load(argument(0));
  filter.if_any_bit(CLONE_THREAD, 1);
  filter.decide(SECCOMP_RET_ALLOW);
  filter.decide(SECCOMP_RET_ERRNO | EPERM);
  filter.if_equal(SYS_clone3, 1);
  filter.decide(SECCOMP_RET_ERRNO | ENOSYS);  // the C library then uses clone
  allow_if(filter, SYS_tgkill, 0, static_cast<std::uint32_t>(::getpid()));  // abort()
  allow_if(filter, SYS_sched_setaffinity, 0, 0);                            // of this thread
  allow_if(filter, SYS_prctl, 0, PR_SET_NAME);
  allow_if(filter, SYS_fcntl, 1, F_GET_SEALS);
}

void allow(Filter& filter, std::span<const int> calls) {
  for (const int call : calls) {
    filter.if_equal(static_cast<std::uint32_t>(call), 1);
    filter.decide(SECCOMP_RET_ALLOW);
  }
}

void begin(Filter& filter) {
  filter.load(offsetof(seccomp_data, arch));
  filter.add(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0);
  filter.decide(SECCOMP_RET_KILL_PROCESS);
  filter.load(offsetof(seccomp_data, nr));
  allow(filter, kAllowed);
}

Status finish(Filter& filter) {
  filter.decide(SECCOMP_RET_ERRNO | EPERM);
  return filter.install() ? Status() : refused("seccomp");
}

Status filter_calls() {
  Filter filter;
  begin(filter);
  add_conditions(filter);
  return finish(filter);
}

#if !OB_SANITIZER
// Machine code is loaded from files that the compiler has written, so that memory may be
// executable. Shared memory without a file would not count as private.
Status filter_compiler_calls(bool becomes_another_program) {
  Filter filter;
  begin(filter);
  allow(filter, kFileCalls);
  constexpr int kLoading[] = {SYS_mprotect};
  allow(filter, kLoading);
  if (becomes_another_program) {
    constexpr int kBecoming[] = {SYS_execve, SYS_prlimit64};
    allow(filter, kBecoming);
  }
  constexpr std::uint32_t kSharedAndNew = MAP_SHARED | MAP_ANONYMOUS;
  filter.if_equal(SYS_mmap, 7);
  filter.load(argument(3));
  filter.if_any_bit(MAP_GROWSDOWN, 1);
  filter.decide(SECCOMP_RET_ERRNO | EPERM);
  filter.add(BPF_ALU | BPF_AND | BPF_K, kSharedAndNew);
  filter.add(BPF_JMP | BPF_JEQ | BPF_K, kSharedAndNew, 1, 0);
  filter.decide(SECCOMP_RET_ALLOW);
  filter.decide(SECCOMP_RET_ERRNO | EPERM);
  allow_if(filter, SYS_tgkill, 0, static_cast<std::uint32_t>(::getpid()));
  allow_if(filter, SYS_sched_setaffinity, 0, 0);
  allow_if(filter, SYS_prctl, 0, PR_SET_NAME);
  return finish(filter);
}
#endif

// Returns the private memory of the process that RLIMIT_DATA counts [bytes]; 0 if unknown.
std::uint64_t private_bytes() {
  std::FILE* file = std::fopen("/proc/self/status", "re");
  if (file == nullptr) return 0;
  char line[128];
  unsigned long long kib = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "VmData: %llu kB", &kib) == 1) break;
  }
  std::fclose(file);
  return std::uint64_t{kib} << 10;
}

}  // namespace

Status end_with(pid_t daemon) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != daemon) return {Code::unavailable, "the daemon has ended"};
  return {};
}

Status restrict_files(const std::vector<std::string>& readable, const std::string& writable) {
  (void)::prctl(PR_SET_DUMPABLE, 0);
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_NOFILE, writable.empty() ? kMostDescriptors : kMostCompilerDescriptors);
  if (!writable.empty()) set_limit(RLIMIT_FSIZE, kMostFileBytes);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return refused("no_new_privs");
  return restrict_paths(readable, writable);
}

Status can_restrict_files() {
  const long version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version >= 2) return {};  // compilers move files between folders
  return {Code::unsupported,
          "the daemon's machine cannot restrict the files that a process reaches (Landlock needs "
          "Linux 5.19, and must be enabled)"};
}

namespace {

// Limits private memory and output.
[[maybe_unused]] Status restrict_memory(std::uint64_t memory_bytes) {
  const std::uint64_t now_bytes = private_bytes();
  if (now_bytes != 0 && memory_bytes < RLIM_INFINITY - now_bytes) {
    set_limit(RLIMIT_DATA, now_bytes + memory_bytes);
  }
  // Messages of libraries end here: a program that was taken over must not fill the log.
  rlimit stack{};
  const bool known = ::getrlimit(RLIMIT_STACK, &stack) == 0;
  set_limit(RLIMIT_STACK, known ? std::min(stack.rlim_cur, kMostStackBytes) : kMostStackBytes);
  // The files of the system are out of reach already; stdout is /dev/null.
  if (::dup2(STDOUT_FILENO, STDERR_FILENO) < 0) return refused("stderr");
  return {};
}

}  // namespace

// Sanitizers use more memory and other calls.
#if OB_SANITIZER
Status restrict_calls(std::uint64_t /*memory_bytes*/) { return {}; }
Status restrict_kernel_calls(std::uint64_t /*memory_bytes*/) { return {}; }
Status restrict_linker_calls() { return {}; }
#else
Status restrict_calls(std::uint64_t memory_bytes) {
  OB_RETURN_IF_ERROR(restrict_memory(memory_bytes));
  return filter_calls();
}

Status restrict_kernel_calls(std::uint64_t memory_bytes) {
  OB_RETURN_IF_ERROR(restrict_memory(memory_bytes));
  return filter_compiler_calls(false);
}

Status restrict_linker_calls() { return filter_compiler_calls(true); }
#endif

}  // namespace ob::executor
