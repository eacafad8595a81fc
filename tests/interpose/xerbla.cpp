#include "interpose/xerbla.hpp"

void xerbla_(const char*, const void*, std::size_t) {
  ++ob::test::g_xerbla_calls;
  if (ob::test::g_xerbla_throws) throw std::runtime_error("xerbla");
}
