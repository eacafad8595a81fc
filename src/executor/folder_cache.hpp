#pragma once
// Files that compilers of one user have written, kept for later processes of the same user.

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/ids.hpp"

namespace ob::executor {

/// Keeps copies of files in memory, with their paths below a folder. The processes that wrote them
/// may have been taken over, so files of one user never reach another one.
/// Threads: any
class FolderCache {
 public:
  struct Limits {
    std::uint64_t user_bytes = std::uint64_t{16} << 20;
    std::uint64_t total_bytes = std::uint64_t{64} << 20;
    std::size_t user_files = 2048;
  };
  FolderCache() = default;
  explicit FolderCache(const Limits& limits) : limits_(limits) {}

  /// Writes the files of a user below an empty folder. A file that cannot be written is left out.
  /// @returns false if there are none
  /// @pre nobody else writes to the folder
  bool fill(UserId user, const std::string& folder) const;
  /// Keeps the files below a folder, which may be anything. Links and other special files, deep
  /// folders, and files beyond the limits are left out. Users whose files were used longest ago
  /// lose theirs if all files are too large together.
  void take(UserId user, const std::string& folder);
  /// Forgets the files of a user, for instance after a process that had them failed.
  void forget(UserId user);

  std::uint64_t bytes() const;

 private:
  using Files = std::map<std::string, std::shared_ptr<const std::vector<char>>>;
  struct Kept {
    UserId user;
    Files files;
    std::uint64_t bytes = 0;
  };
  std::list<Kept>::iterator find(UserId user) const;

  const Limits limits_{};
  mutable std::mutex mutex_;
  mutable std::list<Kept> users_;  // the last one was used longest ago
};

}  // namespace ob::executor
