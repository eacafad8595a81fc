#include "backend/cpu/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

namespace {

// The refusal of the routine that this thread runs. Libraries check arguments before they use
// threads of their own.
thread_local char t_refusal[64];

}  // namespace

// Fortran's XERBLA(SRNAME, INFO); the name is padded with blanks and its length comes last.
extern "C" [[gnu::visibility("default")]] void xerbla_(const char* name, const std::int32_t* info,
                                                       std::size_t length) {
  if (t_refusal[0] != '\0') return;  // the first refusal is the cause
  // Some C callers pass no length that makes sense.
  const std::size_t shown = strnlen(name, std::min<std::size_t>(length, 16));
  std::snprintf(t_refusal, sizeof t_refusal, "%.*s: argument %d", static_cast<int>(shown), name,
                static_cast<int>(*info));
}

namespace ob::cpu {

std::string take_refusal() {
  std::string refusal(t_refusal);
  t_refusal[0] = '\0';
  return refusal;
}

}  // namespace ob::cpu
