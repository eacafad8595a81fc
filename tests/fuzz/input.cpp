#include "fuzz/input.hpp"

namespace ob::fuzz {

Bytes assemble(const Delivery& delivery, View script, View stream) {
  Bytes bytes;
  bytes.reserve(4 + script.size() + stream.size());
  for (const std::size_t b : {std::size_t{delivery.pieces}, std::size_t{delivery.sends},
                              std::size_t{delivery.flags}, script.size()}) {
    bytes.push_back(static_cast<std::byte>(b));
  }
  bytes.insert(bytes.end(), script.begin(), script.end());
  bytes.insert(bytes.end(), stream.begin(), stream.end());
  return bytes;
}

}  // namespace ob::fuzz
