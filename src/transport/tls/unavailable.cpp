#include "transport/security.hpp"

namespace ob::transport {

Result<std::shared_ptr<const Security>> load_key(const std::string& folder, Side, bool) {
  return Status(Code::unsupported, "cannot use the key in " + folder +
                                       " (built without TLS) build where libssl-dev is installed");
}

}  // namespace ob::transport
