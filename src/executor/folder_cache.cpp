#include "executor/folder_cache.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/fd.hpp"

namespace ob::executor {
namespace {

using Bytes = std::vector<char>;

// PoCL makes three levels: a digest's begin, its rest, and a kernel's group size.
constexpr int kMostLevels = 6;
constexpr std::uint64_t kMostFileBytes = std::uint64_t{4} << 20;

bool read_all(int file, Bytes& bytes) {
  std::size_t had = 0;
  while (had < bytes.size()) {
    const ssize_t got = ::read(file, bytes.data() + had, bytes.size() - had);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    had += static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int file, const Bytes& bytes) {
  std::size_t had = 0;
  while (had < bytes.size()) {
    const ssize_t put = ::write(file, bytes.data() + had, bytes.size() - had);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    had += static_cast<std::size_t>(put);
  }
  return true;
}

// Reads the files below a folder that a stranger may have made. It follows no links.
class Reader {
 public:
  Reader(std::uint64_t most_bytes, std::size_t most_files)
      : left_bytes_(most_bytes), left_files_(most_files) {}

  void read(Fd folder, const std::string& prefix, int levels) {
    DIR* const entries = ::fdopendir(folder.get());
    if (entries == nullptr) return;
    const int at = folder.release();  // closedir() closes it
    while (const dirent* entry = left_files_ == 0 ? nullptr : ::readdir(entries)) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      Fd opened(::openat(at, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      struct stat facts {};
      if (!opened || ::fstat(opened.get(), &facts) != 0) continue;
      --left_files_;  // folders count, too
      if (S_ISDIR(facts.st_mode) && levels > 1)
        read(std::move(opened), prefix + name + "/", levels - 1);
      if (S_ISREG(facts.st_mode))
        add(opened.get(), static_cast<std::uint64_t>(facts.st_size), prefix + name);
    }
    ::closedir(entries);
  }

  std::map<std::string, std::shared_ptr<const Bytes>> files;
  std::uint64_t bytes = 0;

 private:
  void add(int file, std::uint64_t size, const std::string& path) {
    const std::uint64_t counted = size + path.size();
    if (size > kMostFileBytes || counted > left_bytes_) return;
    auto contents = std::make_shared<Bytes>(size);
    if (!read_all(file, *contents)) return;
    left_bytes_ -= counted;
    bytes += counted;
    files[path] = std::move(contents);
  }

  std::uint64_t left_bytes_;
  std::size_t left_files_;
};

void write_file(const std::string& folder, const std::string& path, const Bytes& bytes) {
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    (void)::mkdir((folder + "/" + path.substr(0, end)).c_str(), 0700);
  }
  const std::string whole = folder + "/" + path;
  const Fd file(::open(whole.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file && !write_all(file.get(), bytes)) (void)::unlink(whole.c_str());
}

}  // namespace

// @pre mutex_ is held
std::list<FolderCache::Kept>::iterator FolderCache::find(UserId user) const {
  const auto at = std::find_if(users_.begin(), users_.end(),
                               [user](const Kept& kept) { return kept.user == user; });
  if (at != users_.end()) users_.splice(users_.begin(), users_, at);
  return at;
}

bool FolderCache::fill(UserId user, const std::string& folder) const {
  Files files;
  {
    const std::lock_guard lock(mutex_);
    const auto at = find(user);
    if (at == users_.end()) return false;
    files = at->files;
  }
  for (const auto& [path, bytes] : files) write_file(folder, path, *bytes);
  return true;
}

void FolderCache::take(UserId user, const std::string& folder) {
  Fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return;
  Reader reader(limits_.user_bytes, limits_.user_files);
  reader.read(std::move(opened), {}, kMostLevels);
  if (reader.files.empty()) return;
  const std::lock_guard lock(mutex_);
  const auto at = find(user);
  if (at != users_.end()) {
    // Files of other processes of the user stay as far as there is room.
    for (auto& [path, bytes] : at->files) {
      const std::uint64_t counted = bytes->size() + path.size();
      if (reader.files.count(path) != 0 || reader.bytes + counted > limits_.user_bytes ||
          reader.files.size() >= limits_.user_files) {
        continue;
      }
      reader.bytes += counted;
      reader.files[path] = std::move(bytes);
    }
    users_.erase(at);
  }
  users_.push_front({user, std::move(reader.files), reader.bytes});
  std::uint64_t total = 0;
  for (auto kept = users_.begin(); kept != users_.end();) {
    total += kept->bytes;
    kept = total > limits_.total_bytes ? users_.erase(kept) : std::next(kept);
  }
}

void FolderCache::forget(UserId user) {
  const std::lock_guard lock(mutex_);
  const auto at = find(user);
  if (at != users_.end()) users_.erase(at);
}

std::uint64_t FolderCache::bytes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t total = 0;
  for (const Kept& kept : users_) total += kept.bytes;
  return total;
}

}  // namespace ob::executor
