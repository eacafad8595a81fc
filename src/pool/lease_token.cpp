#include "pool/lease_token.hpp"

#include <algorithm>
#include <optional>

#include "pool/base64.hpp"

namespace ob::pool {
namespace {

constexpr std::size_t kKidDigits = 16;

bool is_kid(std::string_view text) {
  return text.size() == kKidDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Status refused(const char* why) {
  return {Code::denied, std::string("the lease token is refused (") + why +
                            ") get a fresh one from the pool's manager"};
}

}  // namespace

Result<LeaseKeys> LeaseKeys::create(const std::vector<LeaseKey>& keys) {
  LeaseKeys made;
  for (const LeaseKey& key : keys) {
    if (!is_kid(key.kid)) {
      return Status(Code::invalid_argument,
                    "a key of the pool's manager is refused (its name is not 16 hexadecimal "
                    "digits) manager and daemon must be of matching releases");
    }
    OB_ASSIGN_OR_RETURN(auto verifier, transport::tls::Es256Key::from_der(key.der));
    const std::string header = R"({"alg":"ES256","kid":")" + key.kid + R"("})";
    made.keys_.emplace_back(encode_base64url(header), std::move(verifier));
  }
  return made;
}

const transport::tls::Es256Key* LeaseKeys::find(std::string_view header) const noexcept {
  const auto at = std::find_if(keys_.begin(), keys_.end(),
                               [&](const auto& entry) { return entry.first == header; });
  return at == keys_.end() ? nullptr : &at->second;
}

// The header is compared and never read, so that nobody but us chooses the algorithm. No byte of
// the claims is read before the signature is known to be right.
Result<LeaseClaims> verify_lease_token(std::string_view token, const LeaseKeys& keys) {
  if (token.empty()) return refused("there is none");
  if (token.size() > kMostTokenBytes) return refused("it is longer than 1024 bytes");
  const std::size_t first = token.find('.');
  const std::size_t last = token.rfind('.');
  if (first == std::string_view::npos || std::count(token.begin(), token.end(), '.') != 2) {
    return refused("it has not three parts");
  }
  const auto claims = decode_base64url(token.substr(first + 1, last - first - 1));
  const auto signature = decode_base64url(token.substr(last + 1));
  if (!claims || !signature) return refused("it is not written in base64url");
  const auto* const key = keys.find(token.substr(0, first));
  if (key == nullptr) return refused("its header names no key of this pool");
  if (!key->verifies(token.substr(0, last), *signature)) return refused("its signature is wrong");
  return parse_lease_claims(*claims);
}

}  // namespace ob::pool
