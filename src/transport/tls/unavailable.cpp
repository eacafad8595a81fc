// The functions of tls/ in a build without the headers of OpenSSL.

#include "transport/security.hpp"
#include "transport/tls/es256.hpp"

namespace ob::transport {

Result<std::shared_ptr<const Security>> load_key(const std::string& folder, Side, bool) {
  return Status(Code::unsupported, "cannot use the key in " + folder +
                                       " (built without TLS) build where libssl-dev is installed");
}

Result<tls::Es256Key> tls::Es256Key::from_der(std::string_view) {
  return Status(Code::unsupported,
                "cannot verify lease tokens (built without TLS) build where libssl-dev is "
                "installed");
}

bool tls::Es256Key::verifies(std::string_view, std::string_view) const noexcept { return false; }

}  // namespace ob::transport
