#pragma once

#include <optional>

#include "parameters.hpp"

namespace mp2c {

/// Reads and checks the options.
/// Returns: nothing if the program is to end, with `exit_code` set and a text printed if `speaks`
std::optional<Parameters> read_command_line(int count, char** arguments, bool speaks,
                                            int& exit_code);

}  // namespace mp2c
