#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ob::sial {

/// Reads a number of bytes as the command line takes it: "512M", "4GiB", "1000000"; powers of 1024.
/// Empty for other texts, 0, and from 2^63 on.
std::optional<std::int64_t> parse_size_text(std::string_view text) noexcept;

}  // namespace ob::sial
