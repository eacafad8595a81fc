#include "backend/cuda/kernel_code.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string_view>
#include <system_error>

#include "backend/cuda/compiler.hpp"

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

Result<std::string> compile(const NvrtcTable& compiler, const std::string& architecture) {
  // The compiler contracts products and sums to fused operations by default, which saves one
  // rounding.
  const std::array<const char*, 2> options{architecture.c_str(), "--std=c++17"};
  std::string log;
  auto code = compile_cuda(compiler, kernel_source(), "kernels.cuh", options, log);
  if (code.ok()) return code;
  constexpr std::size_t kEnough = 500;  // the first error
  return Status(Code::device_error,
                "the kernels do not compile (" + code.status().message() +
                    "); name the folder of a CUDA that knows this device in OUTBOARD_CUDA_PATH " +
                    log.substr(0, kEnough));
}

}  // namespace

Result<int> compute_capability(const Gpu& gpu) {
  const Runtime& runtime = gpu.runtime();
  int major = 0;
  int minor = 0;
  OB_RETURN_IF_ERROR(runtime.check(
      runtime.cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu.ordinal),
      "asking for the compute capability"));
  OB_RETURN_IF_ERROR(runtime.check(
      runtime.cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, gpu.ordinal),
      "asking for the compute capability"));
  return 10 * major + minor;
}

Result<std::string> kernel_code(const NvrtcTable& compiler, int capability) {
  static std::mutex mutex;
  static std::map<int, std::string> compiled;
  const std::lock_guard lock(mutex);
  if (const auto found = compiled.find(capability); found != compiled.end()) return found->second;
  int major = 0;
  int minor = 0;
  (void)compiler.nvrtcVersion(&major, &minor);
  const std::string architecture = architecture_option(capability);
  const std::string follows_from = std::string(kernel_source()) + architecture + " " +
                                   std::to_string(major) + "." + std::to_string(minor);
  const fs::path folder = cache_folder();
  std::ostringstream name;
  name << "kernels-" << std::hex << hash(follows_from) << ".cubin";
  std::string code = folder.empty() ? std::string() : load(folder / name.str());
  if (code.empty()) {
    OB_ASSIGN_OR_RETURN(code, compile(compiler, architecture));
    if (!folder.empty()) save(folder / name.str(), code);
  }
  compiled[capability] = code;
  return code;
}

}  // namespace ob::cuda
