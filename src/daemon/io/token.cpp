#include "daemon/io/token.hpp"

#include <sys/random.h>

namespace ob::daemon {

Result<wire::Token> new_token() {
  wire::Token token{};
  while (token == wire::Token{}) {  // zero means no token
    if (::getrandom(token.data(), sizeof(token), 0) != static_cast<ssize_t>(sizeof(token))) {
      return Status(Code::internal, "no random numbers for a token");
    }
  }
  return token;
}

bool same(const wire::Token& a, const wire::Token& b) noexcept {
  return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0;
}

}  // namespace ob::daemon
