#pragma once
// Reads byte code that the compiler wrote.   docs/sial/bytecode.md

#include <cstddef>
#include <span>
#include <string>

#include "base/status.hpp"
#include "sial/code/program.hpp"

namespace ob::sial {

/// Decodes and verifies a file of byte code. What passes cannot make the interpreter touch memory
/// that is not its own.
/// @param name the name of the file, for messages
/// Memory:  a small multiple of the file's length, whatever the bytes say
/// Errors:  version_mismatch for another format; invalid_argument for everything else that the
///          page's "Checks of the loader" name
Result<Program> load_program(std::span<const std::byte> bytes, const std::string& name);

}  // namespace ob::sial
