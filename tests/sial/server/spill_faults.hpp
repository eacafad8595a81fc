#pragma once
// Real faults of the files in which a server of this process keeps blocks.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "support/random.hpp"

namespace ob::sial::testing {

/// Returns the descriptors of the files that were opened in this folder. They have no names.
inline std::vector<int> spill_files(const std::string& folder) {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.starts_with(folder + "/")) found.push_back(std::stoi(entry.path().filename()));
  }
  return found;
}

/// Changes one bit.
inline void flip_bit(int file, std::mt19937_64& random) {
  struct stat facts {};
  if (::fstat(file, &facts) != 0 || facts.st_size == 0) std::abort();
  const off_t at = test::uniform<off_t>(random, 0, facts.st_size - 1);
  unsigned char byte = 0;
  if (::pread(file, &byte, 1, at) != 1) std::abort();
  byte = static_cast<unsigned char>(byte ^ (1U << test::uniform(random, 0, 7)));
  if (::pwrite(file, &byte, 1, at) != 1) std::abort();
}

/// Lets each read and write of the file fail with EIO, as those of a broken disk.
inline void break_file(int file) {
  const int broken = ::open("/proc/self/mem", O_RDWR | O_CLOEXEC);  // nothing is mapped at 0
  if (broken < 0 || ::dup2(broken, file) != file) std::abort();
  ::close(broken);
}

/// Writes beyond this size of a file fail while the object lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uint64_t bytes) {
    previous_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    if (::getrlimit(RLIMIT_FSIZE, &previous_) != 0) std::abort();
    rlimit lower = previous_;
    lower.rlim_cur = bytes;
    if (::setrlimit(RLIMIT_FSIZE, &lower) != 0) std::abort();
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &previous_);
    std::signal(SIGXFSZ, previous_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit previous_{};
  void (*previous_handler_)(int) = nullptr;
};

}  // namespace ob::sial::testing
