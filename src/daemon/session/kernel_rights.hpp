#pragma once
// The kernels that a client may load.

#include <cstdint>
#include <string>

#include "transport/stream.hpp"

namespace ob::daemon {

/// The kinds of modules that clients may load, each value more than the one before.
enum class KernelRights : std::uint8_t {
  off,       ///< nothing
  portable,  ///< modules in the portable language
  native,    ///< all that the device takes
};

struct KernelPolicy {
  KernelRights most = KernelRights::native;      ///< for all clients
  KernelRights without_key = KernelRights::off;  ///< over TCP, if the daemon has no key
  std::uint32_t longest_kernel_ms = 0;           ///< shown to clients
};

/// The rights of a client, and why they are not more.
struct GrantedKernels {
  KernelRights rights = KernelRights::off;
  std::string why;  ///< why there are none
};

/// The daemon's own user over a Unix socket has all; others have what their key says, and without a
/// key, what the policy says.
GrantedKernels kernel_rights(const KernelPolicy& policy, const transport::Stream& stream);

/// Returns the rights with this name: off, portable, native; off for any other.
KernelRights kernel_rights_named(const std::string& name) noexcept;

}  // namespace ob::daemon
