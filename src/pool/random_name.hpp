#pragma once
// Names that nobody else chooses.

#include <string>

namespace ob::pool {

/// Returns 128 random bits as 32 hexadecimal digits; an empty text if the system has none.
std::string random_name();

}  // namespace ob::pool
