// Implements the functions of include/outboard/outboard.h.

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "interpose/nesting.hpp"
#include "interpose/preserve_errno.hpp"
#include "interpose/process_engine.hpp"
#include "outboard/outboard.h"

#define OB_API extern "C" __attribute__((visibility("default")))

namespace ob::interpose {
namespace {

// Finds a function of the library that computes `routine`. It is in the global scope behind this
// library, where the calls of programs that are linked to it find it.
const void* library_of(const std::string& routine) {
  std::string symbol = routine + "_";
  if (routine.starts_with("fftwf ")) symbol = "fftwf_execute";
  if (routine.starts_with("fftw ")) symbol = "fftw_execute";
  return ::dlsym(RTLD_NEXT, symbol.c_str());
}

int answer_with(char* text, std::size_t text_bytes, std::string_view words, int status) noexcept {
  if (text == nullptr || text_bytes == 0) return 1;
  const std::size_t fits = std::min(words.size(), text_bytes - 1);
  std::memcpy(text, words.data(), fits);
  text[fits] = 0;
  return status;
}

}  // namespace
}  // namespace ob::interpose

OB_API int outboard_accuracy(const char* mode) {
  const std::string_view name = mode == nullptr ? "" : mode;
  const auto accuracy = ob::offload::accuracy_named(name);
  if (!accuracy && !name.empty()) return 1;
  ob::interpose::set_thread_accuracy(accuracy);
  return 0;
}

OB_API int outboard_explain(const char* routine, const char* sizes, char* text,
                            std::size_t text_bytes) {
  using namespace ob::interpose;
  const PreserveErrno preserve_errno;
  const Nesting nesting;
  if (routine == nullptr || sizes == nullptr) {
    return answer_with(text, text_bytes,
                       "the routine or its sizes are NULL (name both, as in \"dgemm\", \"2000\")",
                       1);
  }
  ob::offload::Engine* const engine = process_engine();
  if (engine == nullptr) return answer_with(text, text_bytes, "nothing is decided in mode off", 1);
  try {
    const auto answer = engine->explain(routine, sizes, library_of(routine));
    if (!answer.ok()) return answer_with(text, text_bytes, answer.status().message(), 1);
    return answer_with(text, text_bytes, *answer, 0);
  } catch (...) {
    return answer_with(text, text_bytes, "out of memory", 1);
  }
}
