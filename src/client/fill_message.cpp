#include "client/fill_message.hpp"

#include <algorithm>

#include "device/region_checks.hpp"

namespace ob::client {

Result<wire::Fill> fill_message(BufferId buffer, const Region& region,
                                std::span<const std::byte> element) {
  OB_RETURN_IF_ERROR(check_fill(region, element));
  wire::Fill message{buffer, region, {}};
  std::copy(element.begin(), element.end(), message.element.begin());
  return message;
}

}  // namespace ob::client
