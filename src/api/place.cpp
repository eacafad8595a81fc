#include "api/place.hpp"

#include <string>

#include "api/handles.hpp"

namespace ob::api {

Result<std::shared_ptr<Buffer>> buffer_of(const ob_place& place, const OpenDevice& device) {
  OB_ASSIGN_OR_RETURN(auto buffer, find<Buffer>(place.buffer));
  if (buffer->device.get() == &device) return buffer;
  return Status(Code::invalid_argument,
                "the buffer and the queue are of two devices; read from the one and write to the "
                "other");
}

Status check_inside(const char* command, const Buffer& buffer, const Region& region) {
  if (fits(region, buffer.size_bytes)) return {};
  return {Code::invalid_argument,
          std::string("a ") + command + " of " + std::to_string(extent_bytes(region)) +
              " bytes at byte " + std::to_string(region.offset_bytes) +
              " reaches beyond its buffer of " + std::to_string(buffer.size_bytes) + " bytes"};
}

}  // namespace ob::api
