#pragma once
// The one place that hands JSON from the network to the library that reads it.

#include <nlohmann/json.hpp>
#include <string_view>

namespace ob::pool {

/// Returns the value of a JSON text, which is discarded if it is none. The library takes a NUL byte
/// for the end of the text, so it would accept anything after one.
inline nlohmann::json parsed_json(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return nlohmann::json::value_t::discarded;
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace ob::pool
