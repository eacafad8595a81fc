#pragma once

#include <cstddef>
#include <span>

#include "base/ids.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "wire/message.hpp"

namespace ob::client {

/// Returns the message of a fill.   Errors: invalid_argument, as Device::fill()
Result<wire::Fill> fill_message(BufferId buffer, const Region& region,
                                std::span<const std::byte> element);

}  // namespace ob::client
