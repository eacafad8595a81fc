#pragma once
// The device buffers that a process has mapped.

#include <sys/types.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace ob::test {

/// Returns the inodes of the files of device buffers that a process has mapped; none if it has
/// ended.
inline std::set<std::string> mapped_buffer_files(pid_t process) {
  std::set<std::string> inodes;
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("outboard-buffer") == std::string::npos) continue;
    std::istringstream fields(line);
    std::string range, mode, offset, device, inode;
    fields >> range >> mode >> offset >> device >> inode;
    inodes.insert(inode);
  }
  return inodes;
}

}  // namespace ob::test
