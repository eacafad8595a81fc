/* Ends a process in the middle of its work on files, to test what is left. Preloaded into it, this
   library counts the calls that change files, and kills the process at call number KILL_AT_WRITE:
   in front of it, or in the middle of what it writes. With MPI, KILL_RANK names the rank. The count
   of a process that ends by itself goes to the file KILL_COUNTS. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static long calls;
static long last;
static int counts;

static int is_rank(const char* rank) {
  const char* names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK"};
  if (rank == NULL) return 1;
  for (int i = 0; i < 2; ++i) {
    const char* mine = getenv(names[i]);
    if (mine != NULL && strcmp(mine, rank) == 0) return 1;
  }
  return 0;
}

__attribute__((constructor)) static void begin(void) {
  const char* at = getenv("KILL_AT_WRITE");
  counts = strncmp(program_invocation_short_name, "outboard-sial", 13) == 0 &&
           is_rank(getenv("KILL_RANK"));
  last = at != NULL ? atol(at) : 0;
}

__attribute__((destructor)) static void end(void) {
  const char* path = getenv("KILL_COUNTS");
  if (!counts || path == NULL || calls == 0) return;
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  dprintf(file, "%ld\n", calls);
  close(file);
}

static int is_due(void) {
  return counts && __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) == last;
}

static int is_file(int file) {
  char name[64], path[256] = "";
  snprintf(name, sizeof name, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(name, path, sizeof path - 1);
  /* Pipes and sockets have names without a slash in front. MPI keeps files in memory. */
  if (length <= 0 || path[0] != '/' || strncmp(path, "/memfd", 6) == 0) return 0;
  return strncmp(path, "/dev/", 5) != 0 || strncmp(path, "/dev/shm/", 9) == 0;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite(int file, const void* from, size_t bytes, off_t at) {
  if (is_file(file) && is_due()) {
    NEXT(pwrite)(file, from, bytes / 2, at);
    kill(getpid(), SIGKILL);
  }
  return NEXT(pwrite)(file, from, bytes, at);
}
ssize_t pwrite64(int file, const void* from, size_t bytes, off64_t at) {
  return pwrite(file, from, bytes, at);
}
ssize_t write(int file, const void* from, size_t bytes) {
  if (is_file(file) && is_due()) {
    NEXT(write)(file, from, bytes / 2);
    kill(getpid(), SIGKILL);
  }
  return NEXT(write)(file, from, bytes);
}
int fsync(int file) {
  if (is_due()) kill(getpid(), SIGKILL);
  return NEXT(fsync)(file);
}
int rename(const char* from, const char* to) {
  if (is_due()) kill(getpid(), SIGKILL);
  return NEXT(rename)(from, to);
}
int unlinkat(int folder, const char* name, int flags) {
  if (is_due()) kill(getpid(), SIGKILL);
  return NEXT(unlinkat)(folder, name, flags);
}
int remove(const char* name) {
  if (is_due()) kill(getpid(), SIGKILL);
  return NEXT(remove)(name);
}
int mkdir(const char* name, mode_t mode) {
  if (is_due()) kill(getpid(), SIGKILL);
  return NEXT(mkdir)(name, mode);
}
