#include "backend/cuda/compiler.hpp"

namespace ob::cuda {
namespace {

class Program {
 public:
  explicit Program(const NvrtcTable& compiler) : compiler_(compiler) {}
  ~Program() {
    if (program_ != nullptr) (void)compiler_.nvrtcDestroyProgram(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Result<std::string> compile(const std::string& source, const char* name,
                              std::span<const char* const> options, std::string& log) {
    nvrtcResult result =
        compiler_.nvrtcCreateProgram(&program_, source.c_str(), name, 0, nullptr, nullptr);
    if (result != NVRTC_SUCCESS) return failure(result);
    result =
        compiler_.nvrtcCompileProgram(program_, static_cast<int>(options.size()), options.data());
    log = read_log();
    if (result != NVRTC_SUCCESS) return failure(result);
    std::size_t size_bytes = 0;
    result = compiler_.nvrtcGetCUBINSize(program_, &size_bytes);
    std::string code(size_bytes, '\0');
    if (result == NVRTC_SUCCESS) result = compiler_.nvrtcGetCUBIN(program_, code.data());
    if (result != NVRTC_SUCCESS) return failure(result);
    return code;
  }

 private:
  std::string read_log() {
    std::size_t size_bytes = 0;
    if (compiler_.nvrtcGetProgramLogSize(program_, &size_bytes) != NVRTC_SUCCESS) return {};
    std::string text(size_bytes, '\0');
    if (compiler_.nvrtcGetProgramLog(program_, text.data()) != NVRTC_SUCCESS) return {};
    return text.substr(0, text.find('\0'));
  }
  Status failure(nvrtcResult result) const {
    const Code code = result == NVRTC_ERROR_COMPILATION ? Code::build_failed : Code::device_error;
    return {code, compiler_.nvrtcGetErrorString(result)};
  }

  const NvrtcTable& compiler_;
  nvrtcProgram program_ = nullptr;
};

}  // namespace

Result<std::string> compile_cuda(const NvrtcTable& compiler, const std::string& source,
                                 const char* name, std::span<const char* const> options,
                                 std::string& log) {
  return Program(compiler).compile(source, name, options, log);
}

std::string architecture_option(int capability) {
  return "--gpu-architecture=sm_" + std::to_string(capability);
}

}  // namespace ob::cuda
