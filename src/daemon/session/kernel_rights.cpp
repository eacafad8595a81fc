#include "daemon/session/kernel_rights.hpp"

#include <algorithm>

namespace ob::daemon {

KernelRights kernel_rights_named(const std::string& name) noexcept {
  if (name == "native") return KernelRights::native;
  return name == "portable" ? KernelRights::portable : KernelRights::off;
}

GrantedKernels kernel_rights(const KernelPolicy& policy, const transport::Stream& stream) {
  GrantedKernels granted;
  if (policy.most == KernelRights::off) {
    return {KernelRights::off, "the daemon runs with --kernels off"};
  }
  if (stream.shares_memory()) {
    granted.rights = KernelRights::native;  // the transport serves the daemon's own user, and root
  } else if (stream.user().empty()) {
    granted = {policy.without_key,
               "the daemon has no key, so nobody proves who runs kernels; give it one (outboard "
               "key), connect over its Unix socket, or, on loopback, start it with "
               "--kernels-without-key portable"};
  } else {
    granted = {kernel_rights_named(stream.kernel_rights()),
               "the client's key gives no right to kernels; make one with `outboard key add client "
               "NAME --kernels portable`"};
  }
  granted.rights = std::min(granted.rights, policy.most);
  return granted;
}

}  // namespace ob::daemon
