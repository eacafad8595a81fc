#include "nvrtc/host_compiler.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>

#include "core/kernel_abi.hpp"
#include "nvrtc/prelude.hpp"

namespace standin {
namespace {

std::string folder() {
  if (const char* chosen = std::getenv("STANDIN_CUDA_CACHE")) return chosen;
  return "/tmp/standin_cuda-" + std::to_string(getuid());
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs a command and collects its output. Returns true if its exit status is zero.
bool run(const std::string& command, std::string& output) {
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return false;
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    output.append(buffer, n);
  return pclose(pipe) == 0;
}

// Macros may form kernel names: reads the names after preprocessing.
std::string binders(const std::string& preprocessed) {
  static const std::regex kKernel(
      R"(standin_kernel\)\)\s+(?:__attribute__\s*\(\([^;{]*?\)\)\s*)*void\s+(\w+)\s*\()");
  // The definition is the first one; a function that is called makes fibers of the threads.
  const std::string barrier = "__syncthreads()";
  const std::size_t definition = preprocessed.find(barrier);
  const bool used = preprocessed.find(barrier, definition + 1) != std::string::npos;
  std::string text =
      std::string("const bool standin_barriers = ") + (used ? "true" : "false") + ";\n";
  for (std::sregex_iterator i(preprocessed.begin(), preprocessed.end(), kKernel), end; i != end;
       ++i)
    text += "STANDIN_BIND(" + (*i)[1].str() + ")\n";
  return text;
}

}  // namespace

bool compile_kernels(const std::string& source, unsigned architecture, std::vector<char>& cubin,
                     std::string& log) {
  mkdir(folder().c_str(), 0700);
  const std::string text = std::string(kPrelude) + "#line 1 \"kernels\"\n" + source + kPostlude;
  const std::string base = folder() + "/" + std::to_string(std::hash<std::string>{}(text));
  const std::string object = base + ".so";
  if (access(object.c_str(), R_OK) != 0) {
    const std::string mine = base + "." + std::to_string(getpid());
    const std::string compiler = STANDIN_CUDA_COMPILER " -std=c++20 -w -x c++ ";
    std::ofstream(mine + ".cpp") << text;
    std::string preprocessed;
    bool ok = run(compiler + "-E -P " + mine + ".cpp", preprocessed);
    if (!ok) log = preprocessed;
    std::ofstream(mine + ".cpp", std::ios::app) << binders(preprocessed);
    ok = ok && run(compiler + "-O2 -ffp-contract=off -fPIC -shared -fvisibility=hidden -o " + mine +
                       ".so " + mine + ".cpp",
                   log);
    unlink((mine + ".cpp").c_str());
    if (!ok) return false;
    rename((mine + ".so").c_str(), object.c_str());  // another process may do the same
  }
  const std::string bytes = read(object);
  CubinHeader header{};
  std::memcpy(header.magic, kCubinMagic, sizeof kCubinMagic);
  header.object_bytes = bytes.size();
  header.architecture = architecture;
  cubin.resize(sizeof header + bytes.size());
  std::memcpy(cubin.data(), &header, sizeof header);
  std::memcpy(cubin.data() + sizeof header, bytes.data(), bytes.size());
  return true;
}

}  // namespace standin
