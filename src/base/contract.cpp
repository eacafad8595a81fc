#include "base/contract.hpp"

#include <cstdio>
#include <cstdlib>

namespace ob::detail {

void contract_failed(const char* check, const char* expression, const char* file,
                     int line) noexcept {
  std::fprintf(stderr, "%s:%d: %s failed: %s (this is a bug of Outboard)\n", file, line, check,
               expression);
  std::abort();
}

}  // namespace ob::detail
