#pragma once
// The origin of a connection, for limits that treat all connections of one origin as one.

#include <string>

namespace ob::daemon {

/// Returns the part of Stream::peer() that names the machine or the user: "10.0.0.7" of
/// "10.0.0.7:40123"; the network "2001:db8::/64" of an IPv6 address, because one machine may use
/// all addresses of its network; "unix:/run/ob.sock (uid 1000)" as it is.
/// @pre the peer has not proven its identity yet, which adds its name
std::string source_of(const std::string& peer);

}  // namespace ob::daemon
