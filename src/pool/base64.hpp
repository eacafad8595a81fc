#pragma once
// Base64 in its two alphabets (RFC 4648), written in the one way: no spaces, and no bits in the
// last letter that belong to no byte.

#include <optional>
#include <string>
#include <string_view>

namespace ob::pool {

/// Returns the bytes in base64url without padding, as tokens have it.
std::string encode_base64url(std::string_view bytes);

/// Returns the bytes of a text in base64url without padding; nothing if it is not that.
std::optional<std::string> decode_base64url(std::string_view text);

/// Returns the bytes of a text in base64 with padding, as JSON has keys; nothing if it is not that.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace ob::pool
