#include "backend/cuda/kernel_code.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace ob::cuda {
namespace {

namespace fs = std::filesystem;

// Computes the FNV-1a hash of 64 bits.
std::uint64_t hash(std::string_view text) noexcept {
  std::uint64_t value = 0xcbf29ce484222325ULL;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return value;
}

// Returns the cache's folder; empty if there is none.
fs::path cache_folder() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return fs::path(cache) / "outboard";
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return fs::path(home) / ".cache" / "outboard";
  return {};
}

// True if only this user can write a cached file. It contains code that will run.
bool ours(const fs::path& file) {
  struct stat about {};
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  return lstat(file.c_str(), &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
         (about.st_mode & kOthersWrite) == 0;
}

std::string load(const fs::path& file) {
  if (!ours(file)) return {};
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return in ? text.str() : std::string();
}

// Saves the code. Errors are ignored, because the next process then compiles again.
void save(const fs::path& file, const std::string& code) {
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  const fs::path unfinished = file.string() + "." + std::to_string(getpid());
  std::ofstream out(unfinished, std::ios::binary);
  out.write(code.data(), static_cast<std::streamsize>(code.size()));
  out.close();
  fs::permissions(unfinished, fs::perms::owner_read | fs::perms::owner_write, ignored);
  if (out) fs::rename(unfinished, file, ignored);
  if (!out || ignored) fs::remove(unfinished, ignored);
}

class Program {
 public:
  explicit Program(const NvrtcTable& compiler) : compiler_(compiler) {}
  ~Program() {
    if (program_ != nullptr) (void)compiler_.nvrtcDestroyProgram(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Result<std::string> compile(const std::string& architecture) {
    nvrtcResult result = compiler_.nvrtcCreateProgram(&program_, kernel_source(), "kernels.cuh", 0,
                                                      nullptr, nullptr);
    if (result != NVRTC_SUCCESS) return failure(result, "");
    // The compiler contracts products and sums to fused operations by default, which saves one
    // rounding.
    const char* const options[] = {architecture.c_str(), "--std=c++17"};
    result = compiler_.nvrtcCompileProgram(program_, 2, options);
    if (result != NVRTC_SUCCESS) return failure(result, log());
    std::size_t size_bytes = 0;
    result = compiler_.nvrtcGetCUBINSize(program_, &size_bytes);
    std::string code(size_bytes, '\0');
    if (result == NVRTC_SUCCESS) result = compiler_.nvrtcGetCUBIN(program_, code.data());
    if (result != NVRTC_SUCCESS) return failure(result, "");
    return code;
  }

 private:
  std::string log() {
    std::size_t size_bytes = 0;
    if (compiler_.nvrtcGetProgramLogSize(program_, &size_bytes) != NVRTC_SUCCESS) return {};
    std::string text(size_bytes, '\0');
    if (compiler_.nvrtcGetProgramLog(program_, text.data()) != NVRTC_SUCCESS) return {};
    constexpr std::size_t kEnough = 500;  // the first error
    return text.substr(0, kEnough);
  }
  Status failure(nvrtcResult result, const std::string& why) const {
    return {Code::device_error, std::string("the kernels do not compile (") +
                                    compiler_.nvrtcGetErrorString(result) +
                                    "); name the folder of a CUDA that knows this device in "
                                    "OUTBOARD_CUDA_PATH " +
                                    why};
  }

  const NvrtcTable& compiler_;
  nvrtcProgram program_ = nullptr;
};

}  // namespace

Result<std::string> kernel_code(const NvrtcTable& compiler, int capability) {
  static std::mutex mutex;
  static std::map<int, std::string> compiled;
  const std::lock_guard lock(mutex);
  if (const auto found = compiled.find(capability); found != compiled.end()) return found->second;
  int major = 0;
  int minor = 0;
  (void)compiler.nvrtcVersion(&major, &minor);
  const std::string architecture = "--gpu-architecture=sm_" + std::to_string(capability);
  const std::string follows_from = std::string(kernel_source()) + architecture + " " +
                                   std::to_string(major) + "." + std::to_string(minor);
  const fs::path folder = cache_folder();
  std::ostringstream name;
  name << "kernels-" << std::hex << hash(follows_from) << ".cubin";
  std::string code = folder.empty() ? std::string() : load(folder / name.str());
  if (code.empty()) {
    OB_ASSIGN_OR_RETURN(code, Program(compiler).compile(architecture));
    if (!folder.empty()) save(folder / name.str(), code);
  }
  compiled[capability] = code;
  return code;
}

}  // namespace ob::cuda
