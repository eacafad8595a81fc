#pragma once

namespace ob::transport::tcp {

/// Sets what every connection of ours wants; an option that the system refuses is left as it is.
/// On a listening socket the accepted ones inherit it.
void set_options(int fd) noexcept;

}  // namespace ob::transport::tcp
