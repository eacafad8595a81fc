#pragma once

#include <cstddef>
#include <span>

namespace ob::sial {

/// Returns whether the bytes are UTF-8 text without NUL: shortest forms only, no surrogates,
/// nothing above U+10FFFF.
bool is_text(std::span<const std::byte> bytes) noexcept;

}  // namespace ob::sial
