#pragma once
// The program's own error handler, like that of testers and interpreters.

#include <cstddef>
#include <stdexcept>

namespace ob::test {
inline int g_xerbla_calls = 0;
inline bool g_xerbla_throws = false;
}  // namespace ob::test

extern "C" [[gnu::visibility("default")]] void xerbla_(const char*, const void*, std::size_t);
