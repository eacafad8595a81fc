#pragma once
// toml++, a parser of TOML in headers, without exceptions.
// docs/decisions/0057-sial-job-files.md

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
// Version 3.3 asserts that a header of a table begins a key, and reports an error for other
// characters behind this assertion. Its assertions would end a debug build, and the optimiser of an
// optimised one would believe them, on a mistake of the user. So they do nothing.
#define TOML_ASSERT(expression) static_assert(true)
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
