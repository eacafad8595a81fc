// UCX in a process of the user: it must not change signals and memory functions. This is a program
// of its own, because UCX is loaded once per process.

#include "transport/ucx/library.hpp"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "transport/link.hpp"

namespace ob::transport::test {
namespace {

struct Handlers {
  std::array<struct sigaction, 65> all{};
  Handlers() {
    for (int signal = 1; signal < 65; ++signal)
      (void)::sigaction(signal, nullptr, &all[static_cast<std::size_t>(signal)]);
  }
};

/// Returns the first instructions of a function, which a patch would replace.
std::array<std::byte, 16> code_of(const char* name) {
  std::array<std::byte, 16> code{};
  const void* const function = ::dlsym(RTLD_DEFAULT, name);
  if (function == nullptr) std::abort();
  std::memcpy(code.data(), function, code.size());
  return code;
}

constexpr const char* kMemoryFunctions[] = {"mmap",  "munmap", "mremap", "shmat",
                                            "shmdt", "brk",    "sbrk",   "madvise"};

TEST(UcxLibrary, LeavesSignalsMemoryFunctionsAndEnvironmentAlone) {
  ASSERT_EQ(::setenv("OB_TEST_VARIABLE", "here", 1), 0);
  const char* const log_level = std::getenv("UCX_LOG_LEVEL");
  const Handlers before;
  std::vector<std::array<std::byte, 16>> code;
  for (const char* const name : kMemoryFunctions) code.push_back(code_of(name));

  Link link(Kind::ucx);  // loads UCX and uses all of it
  ASSERT_TRUE(talks(*link.client, *link.server));
  ASSERT_TRUE(ucx::library().ok());

  const Handlers after;
  for (std::size_t signal = 1; signal < 65; ++signal)
    EXPECT_EQ(before.all[signal].sa_handler, after.all[signal].sa_handler) << signal;
  for (std::size_t i = 0; i < code.size(); ++i)
    EXPECT_EQ(code[i], code_of(kMemoryFunctions[i])) << kMemoryFunctions[i];
  EXPECT_EQ(std::getenv("UCX_LOG_LEVEL"), log_level);
  EXPECT_EQ(std::getenv("UCX_ERROR_SIGNALS"), nullptr);
  EXPECT_STREQ(std::getenv("OB_TEST_VARIABLE"), "here");
}

}  // namespace
}  // namespace ob::transport::test
