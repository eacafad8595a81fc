#pragma once
// The part of the C preprocessor that the signatures of kernels need.

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "device/kernels/module.hpp"
#include "device/kernels/tokens.hpp"

namespace ob::kernels {

/// A source after conditions and macros without parameters. Macros with parameters stay as they
/// are written.
struct PreprocessedSource {
  std::vector<Token> tokens;
  std::deque<std::string> texts;  ///< what the tokens refer to
};

/// Carries out #define without parameters, #undef, and #if to #endif; skips other directives.
/// @param definitions of the compiler and of the module's options
/// Errors: build_failed for #include, conditions that do not end or cannot be evaluated, and macros
///         that expand to more than 2^21 tokens
Result<PreprocessedSource> preprocess(std::string_view source,
                                      const std::vector<Definition>& definitions);

}  // namespace ob::kernels
