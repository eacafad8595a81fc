#include "interpose/nesting.hpp"

namespace ob::interpose {
namespace {

constinit thread_local int t_depth = 0;

}  // namespace

Nesting::Nesting() noexcept : outermost_(t_depth++ == 0) {}
Nesting::~Nesting() { --t_depth; }

}  // namespace ob::interpose
