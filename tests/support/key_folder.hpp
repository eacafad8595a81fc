#pragma once
// A copy of a test's key folder, in which lists of revoked members come and go.

#include <filesystem>
#include <string>

#include "support/temporary_folder.hpp"

namespace ob::test {

class KeyFolder {
 public:
  /// Copies the folder `name` of the keys that tests/transport/tls/make_keys.py makes.
  explicit KeyFolder(const std::string& keys, const std::string& name = "good") : keys_(keys) {
    for (const auto& file : std::filesystem::directory_iterator(keys_ / name)) {
      std::filesystem::copy(file, path());
    }
  }

  const std::string& path() const { return folder_.path(); }
  std::string list() const { return folder_.file("pool.crl"); }

  /// Puts a list in place at once, as `outboard key revoke` does.
  void put(const std::string& name) const {
    const std::string fresh = folder_.file(".fresh");
    std::filesystem::copy_file(keys_ / "lists" / (name + ".crl"), fresh);
    std::filesystem::rename(fresh, list());
  }
  void remove_list() const { std::filesystem::remove(list()); }

 private:
  const std::filesystem::path keys_;
  const TemporaryFolder folder_;
};

}  // namespace ob::test
