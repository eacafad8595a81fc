// nvrtc: compiles kernels with the C++ compiler that built the stand-in.

#include <nvrtc.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/faults.hpp"
#include "core/live_set.hpp"
#include "core/report.hpp"
#include "nvrtc/host_compiler.hpp"

using standin::Report;

namespace {

struct Program {
  std::string source;
  std::string log;
  std::vector<char> cubin;
};

standin::LiveSet<Program>& programs() {
  static auto* const kPrograms = new standin::LiveSet<Program>("nvrtc program(s)");
  return *kPrograms;
}

nvrtcResult enter(const char* call) {
  const int fault = standin::Faults::instance().next(call);
  if (fault == 0) return NVRTC_SUCCESS;
  return fault > 0 ? static_cast<nvrtcResult>(fault) : NVRTC_ERROR_INTERNAL_ERROR;
}

#define STANDIN_NVRTC_ENTER()                     \
  do {                                            \
    const nvrtcResult entered = enter(__func__);  \
    if (entered != NVRTC_SUCCESS) return entered; \
  } while (false)

// Finds the program of a handle; the enclosing function returns an error if there is none.
#define STANDIN_NVRTC_PROGRAM(program, handle)            \
  const auto program = programs().find(handle);           \
  if (program == nullptr) {                               \
    Report::instance().violation(__func__, "no program"); \
    return NVRTC_ERROR_INVALID_PROGRAM;                   \
  }

// Returns 90 for --gpu-architecture=sm_90; 0 if it names no real architecture.
unsigned architecture(const std::string& option) {
  const std::size_t at = option.find("=sm_");
  return at == std::string::npos ? 0 : static_cast<unsigned>(std::atoi(option.c_str() + at + 4));
}

}  // namespace

extern "C" {

// The minor version 99 keeps cached results apart from those of NVIDIA's library.
nvrtcResult nvrtcVersion(int* major, int* minor) {
  STANDIN_NVRTC_ENTER();
  *major = 13;
  *minor = 99;
  return NVRTC_SUCCESS;
}

const char* nvrtcGetErrorString(nvrtcResult result) {
  switch (result) {
    case NVRTC_SUCCESS: return "NVRTC_SUCCESS";
    case NVRTC_ERROR_COMPILATION: return "NVRTC_ERROR_COMPILATION";
    case NVRTC_ERROR_INVALID_OPTION: return "NVRTC_ERROR_INVALID_OPTION";
    case NVRTC_ERROR_INVALID_PROGRAM: return "NVRTC_ERROR_INVALID_PROGRAM";
    case NVRTC_ERROR_INVALID_INPUT: return "NVRTC_ERROR_INVALID_INPUT";
    case NVRTC_ERROR_OUT_OF_MEMORY: return "NVRTC_ERROR_OUT_OF_MEMORY";
    default: return "NVRTC_ERROR_INTERNAL_ERROR";
  }
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* handle, const char* source, const char*, int headers,
                               const char* const*, const char* const*) {
  STANDIN_NVRTC_ENTER();
  if (source == nullptr || headers != 0) return NVRTC_ERROR_INVALID_INPUT;
  auto program = std::make_shared<Program>();
  program->source = source;
  *handle = static_cast<nvrtcProgram>(programs().add(std::move(program)));
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* handle) {
  STANDIN_NVRTC_ENTER();
  if (programs().remove(*handle) == nullptr) {
    Report::instance().violation(__func__, "no program");
    return NVRTC_ERROR_INVALID_PROGRAM;
  }
  *handle = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram handle, int count, const char* const* options) {
  STANDIN_NVRTC_ENTER();
  STANDIN_NVRTC_PROGRAM(program, handle);
  unsigned target = 0;
  for (int i = 0; i < count; ++i) {
    const std::string option = options[i];
    const bool known = option.starts_with("--gpu-architecture=") || option.starts_with("-arch=") ||
                       option.starts_with("--std=") || option.starts_with("-std=") ||
                       option.starts_with("--fmad=") || option.starts_with("-fmad=") ||
                       option.starts_with("--device-as-default-execution-space") ||
                       option.starts_with("-default-device") || option.starts_with("-D") ||
                       option.starts_with("--diag-suppress=");
    if (!known) {
      program->log = "unknown option " + option;
      return NVRTC_ERROR_INVALID_OPTION;
    }
    if (option.find("arch") != std::string::npos) target = architecture(option);
  }
  if (!standin::compile_kernels(program->source, target, program->cubin, program->log))
    return NVRTC_ERROR_COMPILATION;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram handle, size_t* size) {
  STANDIN_NVRTC_ENTER();
  STANDIN_NVRTC_PROGRAM(program, handle);
  *size = program->cubin.size();
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram handle, char* cubin) {
  STANDIN_NVRTC_ENTER();
  STANDIN_NVRTC_PROGRAM(program, handle);
  if (program->cubin.empty()) return NVRTC_ERROR_INVALID_PROGRAM;
  std::memcpy(cubin, program->cubin.data(), program->cubin.size());
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram handle, size_t* size) {
  STANDIN_NVRTC_ENTER();
  STANDIN_NVRTC_PROGRAM(program, handle);
  *size = program->log.size() + 1;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram handle, char* log) {
  STANDIN_NVRTC_ENTER();
  STANDIN_NVRTC_PROGRAM(program, handle);
  std::memcpy(log, program->log.c_str(), program->log.size() + 1);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  STANDIN_NVRTC_ENTER();
  *count = 1;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int* architectures) {
  STANDIN_NVRTC_ENTER();
  architectures[0] = 90;
  return NVRTC_SUCCESS;
}

}  // extern "C"
