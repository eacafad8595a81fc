#pragma once
// A folder for one command, which only this user can enter.

#include <string>

namespace ob::apps {

/// Makes the folder, with a path that is short enough for a socket's name, and removes it at the
/// end with all that is in it.
class PrivateFolder {
 public:
  /// Throws: std::system_error if no folder can be made
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::string& path() const noexcept { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace ob::apps
