#include "faults/own_executor.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>

#include "support/mapped_buffers.hpp"

namespace ob::test {

namespace fs = std::filesystem;

pid_t own_executor(pid_t daemon) {
  const std::set<std::string> own = mapped_buffer_files(getpid());
  std::error_code ended;
  for (const auto& task :
       fs::directory_iterator("/proc/" + std::to_string(daemon) + "/task", ended)) {
    std::ifstream children(task.path() / "children");
    for (std::string child; children >> child;) {
      const auto process = static_cast<pid_t>(std::stol(child));
      const std::set<std::string> theirs = mapped_buffer_files(process);
      const bool shares = std::any_of(theirs.begin(), theirs.end(), [&](const std::string& inode) {
        return own.contains(inode);
      });
      if (shares) return process;
    }
  }
  return -1;
}

}  // namespace ob::test
