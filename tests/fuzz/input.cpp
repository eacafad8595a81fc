#include "fuzz/input.hpp"

namespace ob::fuzz {

Bytes assemble(const Manner& manner, View script, View stream) {
  Bytes bytes;
  bytes.reserve(4 + script.size() + stream.size());
  for (const std::size_t b : {std::size_t{manner.pieces}, std::size_t{manner.sends},
                              std::size_t{manner.flags}, script.size()}) {
    bytes.push_back(static_cast<std::byte>(b));
  }
  bytes.insert(bytes.end(), script.begin(), script.end());
  bytes.insert(bytes.end(), stream.begin(), stream.end());
  return bytes;
}

}  // namespace ob::fuzz
