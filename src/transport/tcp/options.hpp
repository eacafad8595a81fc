#pragma once

namespace ob::transport::tcp {

/// Sets the options of all our connections; an option that the system refuses stays as it is.
/// Accepted sockets inherit the options of the listening one.
void set_options(int fd) noexcept;

}  // namespace ob::transport::tcp
