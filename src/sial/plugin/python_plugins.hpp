#pragma once
// Super-instructions in Python, by a library that embeds an interpreter.

#include <filesystem>
#include <string>

#include "base/status.hpp"
#include "sial/job/job.hpp"
#include "sial/plugin/plugin_call.hpp"

namespace ob::sial {

/// The Python that an environment has.
struct PythonFound {
  std::filesystem::path executable;  ///< empty: the library's own default
  std::string version;               ///< as in "3.11"; empty: unknown
};

/// Returns the Python of OUTBOARD_SIAL_PYTHON, of the active virtual environment, or of PATH.
/// Nothing is started: the version is that of the program's name or of `pyvenv.cfg`.
PythonFound find_python();

/// Imports a file in Python, and calls add(name, intents, function) for each of its
/// super-instructions. The first call starts the interpreter, which stays until the process ends.
/// Errors: unavailable if there is no interpreter for this file; invalid_argument if the module
/// does not load or does not fit
Status load_python_plugin(const std::filesystem::path& file, const AddFunction& add);

}  // namespace ob::sial
