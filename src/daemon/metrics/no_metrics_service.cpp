#include "daemon/metrics/metrics_service.hpp"

namespace ob::daemon {

Result<std::unique_ptr<MetricsService>> MetricsService::create(
    const std::string& /*address*/, std::function<std::string()> /*text*/) {
  return Status(Code::unsupported,
                "cannot serve metrics (this daemon was built without the headers of libmicrohttpd) "
                "install them (Debian: libmicrohttpd-dev) and build again");
}

}  // namespace ob::daemon
