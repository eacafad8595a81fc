#include "faults/own_executor.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <system_error>

namespace ob::test {
namespace {

namespace fs = std::filesystem;

// Returns the inodes of the device buffers that a process has mapped.
std::set<std::string> mapped_files(const std::string& process) {
  std::set<std::string> inodes;
  std::ifstream maps("/proc/" + process + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("outboard-buffer") == std::string::npos) continue;
    std::istringstream fields(line);
    std::string range, mode, offset, device, inode;
    fields >> range >> mode >> offset >> device >> inode;
    inodes.insert(inode);
  }
  return inodes;
}

}  // namespace

pid_t own_executor(pid_t daemon) {
  const std::set<std::string> own = mapped_files("self");
  std::error_code ended;
  for (const auto& task :
       fs::directory_iterator("/proc/" + std::to_string(daemon) + "/task", ended)) {
    std::ifstream children(task.path() / "children");
    for (std::string child; children >> child;) {
      const std::set<std::string> theirs = mapped_files(child);
      const bool shares = std::any_of(theirs.begin(), theirs.end(), [&](const std::string& inode) {
        return own.contains(inode);
      });
      if (shares) return static_cast<pid_t>(std::stol(child));
    }
  }
  return -1;
}

}  // namespace ob::test
