#include "private_folder.hpp"

#include <sys/random.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace ob::apps {
namespace {

// The longest name of a socket, without the closing zero: unix(7).
constexpr std::size_t kMaxSocketPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::size_t kLongestName = sizeof("/outboard-12345678/outboardd.sock.starting") - 1;

// Returns the folder for temporary files, if names in it are not too long for a socket.
std::string base_folder() {
  for (const char* variable : {"TMPDIR", "TEMP", "TMP"}) {
    const char* const named = std::getenv(variable);
    if (named == nullptr || *named == '\0' || access(named, W_OK | X_OK) != 0) continue;
    std::error_code failed;
    if (!std::filesystem::is_directory(named, failed)) continue;
    std::string base = std::filesystem::absolute(named, failed).lexically_normal();
    if (failed) continue;
    if (base.ends_with('/')) base.pop_back();
    return base.size() + kLongestName <= kMaxSocketPath ? base : "/tmp";
  }
  return "/tmp";
}

std::string make_folder() {
  const std::string base = base_folder();
  for (;;) {
    unsigned number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) {
      throw std::system_error(errno, std::generic_category(), "getrandom");
    }
    char name[32];
    std::snprintf(name, sizeof name, "/outboard-%08x", number);
    std::string path = base + name;
    if (mkdir(path.c_str(), 0700) == 0) return path;
    if (errno != EEXIST) throw std::system_error(errno, std::generic_category(), base);
  }
}

}  // namespace

PrivateFolder::PrivateFolder() : path_(make_folder()) {}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace ob::apps
