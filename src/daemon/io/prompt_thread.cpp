#include "daemon/io/prompt_thread.hpp"

#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>

#include "base/thread_priority.hpp"

namespace ob::daemon {
namespace {

// Above all threads that compute (nice 0), and below the system's own.
constexpr int kNice = -10;
// The thread's calls are shallow.
constexpr std::size_t kStackBytes = 32 << 10;

std::uintptr_t down_to_page(std::uintptr_t address) noexcept {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return address - address % page;
}

// Locks the pages that are in memory, and each other page when it is first used.
void lock_memory(std::uintptr_t begin, std::uintptr_t end) noexcept {
  const std::uintptr_t from = down_to_page(begin);
  (void)::syscall(SYS_mlock2, from, end - from, MLOCK_ONFAULT);
}

// Locks the code around one of the addresses.
int lock_code(dl_phdr_info* object, std::size_t, void* addresses) {
  const auto& wanted = *static_cast<const std::array<std::uintptr_t, 2>*>(addresses);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& part = object->dlpi_phdr[i];
    const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    const std::uintptr_t end = begin + part.p_memsz;
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    for (const std::uintptr_t address : wanted) {
      if (address >= begin && address < end) lock_memory(begin, end);
    }
  }
  return 0;
}

}  // namespace

void make_thread_prompt() noexcept {
  set_thread_nice(kNice);
  // This program's code, and the system library's.
  std::array<std::uintptr_t, 2> code{reinterpret_cast<std::uintptr_t>(&make_thread_prompt),
                                     reinterpret_cast<std::uintptr_t>(&::sendmsg)};
  (void)::dl_iterate_phdr(lock_code, &code);
  const char here = 0;
  const auto top = reinterpret_cast<std::uintptr_t>(&here);
  lock_memory(top - kStackBytes, top);
}

}  // namespace ob::daemon
