#include "sial/persist/durable_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "base/fd.hpp"

namespace ob::sial {
namespace {

Status disk_problem(const std::filesystem::path& path, const std::string& what) {
  return {Code::unavailable, path.string() + ": " + what + " (" + strerror(errno) + ")"};
}

}  // namespace

Status write_durably(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file) return disk_problem(path, "cannot create");
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return disk_problem(path, "cannot write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return ::fsync(file.get()) == 0 ? Status() : disk_problem(path, "the disk does not take it");
}

Status synchronize(const std::filesystem::path& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || ::fsync(file.get()) != 0) return disk_problem(path, "the disk does not take it");
  return {};
}

Result<std::vector<std::byte>> read_whole(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  std::vector<std::byte> bytes(size > 0 ? static_cast<std::size_t>(size) : 0);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (size < 0 || !file) return Status(Code::invalid_argument, path.string() + ": cannot read it");
  return bytes;
}

}  // namespace ob::sial
