#include "backend/cpu/shared_object.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace ob::cpu {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

Status copy_failure(const std::string& path) {
  return {Code::unavailable, "cannot copy " + path + " (" + std::strerror(errno) + ")"};
}

Status copy_file(const std::string& path, int to) {
  const FileDescriptor from(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (from.get() < 0 || fstat(from.get(), &about) != 0) return copy_failure(path);
  for (off_t done = 0; done < about.st_size;) {
    if (sendfile(to, from.get(), &done, static_cast<std::size_t>(about.st_size - done)) <= 0) {
      return copy_failure(path);
    }
  }
  return {};
}

}  // namespace

Result<SharedObject> SharedObject::open(const std::string& name) {
  // Libraries are never unloaded: FFTW, for one, leaks its planner's memory each time.
  return open_as(name, RTLD_NODELETE);
}

Result<SharedObject> SharedObject::open_as(const std::string& name, int flags) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return Status(Code::unavailable, "cannot open " + name + " (" +
                                         (reason != nullptr ? reason : "no reason given") + ")");
  }
  return SharedObject(handle);
}

Result<SharedObject> SharedObject::open_copy(const SharedObject& original) {
  link_map* map = nullptr;
  if (dlinfo(original.handle_, RTLD_DI_LINKMAP, &map) != 0 || map->l_name[0] == '\0') {
    return Status(Code::unavailable, "cannot copy a library (its file is unknown)");
  }
  const FileDescriptor copy(memfd_create("outboard-library", MFD_CLOEXEC));
  if (copy.get() < 0) return copy_failure(map->l_name);
  OB_RETURN_IF_ERROR(copy_file(map->l_name, copy.get()));
  return open_as("/proc/self/fd/" + std::to_string(copy.get()), 0);
}

SharedObject::SharedObject(SharedObject&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)) {}

SharedObject& SharedObject::operator=(SharedObject&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

SharedObject::~SharedObject() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* SharedObject::symbol(const char* name) const noexcept {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

}  // namespace ob::cpu
