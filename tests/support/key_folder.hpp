#pragma once
// A copy of a test's key folder, in which lists of revoked members come and go.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace ob::test {

class KeyFolder {
 public:
  /// Copies the folder `name` of the keys that tests/transport/tls/make_keys.py makes.
  explicit KeyFolder(const std::string& keys, const std::string& name = "good") : keys_(keys) {
    path_ = (std::filesystem::temp_directory_path() / "ob-key-XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
    for (const auto& file : std::filesystem::directory_iterator(keys_ / name)) {
      std::filesystem::copy(file, path_);
    }
  }
  ~KeyFolder() { std::filesystem::remove_all(path_); }
  KeyFolder(const KeyFolder&) = delete;
  KeyFolder& operator=(const KeyFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string list() const { return path_ + "/pool.crl"; }

  /// Puts a list in place at once, as `outboard key revoke` does.
  void put(const std::string& name) const {
    const std::string fresh = path_ + "/.fresh";
    std::filesystem::copy_file(keys_ / "lists" / (name + ".crl"), fresh);
    std::filesystem::rename(fresh, list());
  }
  void remove_list() const { std::filesystem::remove(list()); }

 private:
  const std::filesystem::path keys_;
  std::string path_;
};

}  // namespace ob::test
