#pragma once
// toml++, a parser of TOML in headers, without exceptions.
// docs/decisions/0057-sial-job-files.md

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#include <toml++/toml.h>
