#include "sial/plugin/python_plugins.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "sial/plugin/python/python_host.h"

namespace ob::sial {
namespace {

constexpr std::string_view kLibrary = "outboard-sial-python";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns "3.11" of a text that begins with it.
std::string version_at(std::string_view text) {
  std::size_t end = text.starts_with("3.") ? 2 : 0;
  while (end >= 2 && end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end > 2 ? std::string(text.substr(0, end)) : "";
}

// Returns the version that an environment was made for: the line `version = 3.11.7` of its
// pyvenv.cfg, or `version_info`.
std::string version_of_environment(const std::filesystem::path& executable) {
  std::ifstream file(executable.parent_path().parent_path() / "pyvenv.cfg");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key, equals, value;
    words >> key >> equals >> value;
    if (equals == "=" && (key == "version" || key == "version_info")) return version_at(value);
  }
  return "";
}

std::string version_of(const std::filesystem::path& executable) {
  std::string found = version_of_environment(executable);
  std::error_code failed;
  const std::string name = std::filesystem::canonical(executable, failed).filename().string();
  if (found.empty() && name.starts_with("python")) found = version_at(name.substr(6));
  return found;
}

std::filesystem::path on_path(const char* name) {
  std::istringstream folders(variable("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path program = std::filesystem::path(folder) / name;
    std::error_code failed;
    if (!folder.empty() && std::filesystem::is_regular_file(program, failed)) return program;
  }
  return {};
}

// Returns the libraries of this installation that embed a Python, by its version.
std::map<std::string, std::filesystem::path> libraries() {
  std::map<std::string, std::filesystem::path> found;
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto folder = program.parent_path().parent_path() / "lib";
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kLibrary) || !name.ends_with(".so")) continue;
    found.emplace(version_at(name.substr(kLibrary.size())), entry.path());
  }
  return found;
}

// Returns the version of `libraries` to be used.
Result<std::string> fitting(const std::map<std::string, std::filesystem::path>& libraries,
                            const PythonFound& python) {
  if (libraries.empty()) {
    return Status(Code::unavailable,
                  "is in Python, and this installation cannot run Python (its headers or pybind11 "
                  "were missing when it was built); install python3-dev and pybind11-dev, and run "
                  "`outboard build`");
  }
  if (python.version.empty()) return libraries.begin()->first;
  if (libraries.contains(python.version)) return python.version;
  std::string versions;
  for (const auto& [version, path] : libraries) {
    versions += (versions.empty() ? "" : " and ") + version;
  }
  return Status(Code::unavailable, "does not run in " + python.executable.string() +
                                       " (that is Python " + python.version +
                                       ", and this installation was built for " + versions +
                                       "); start the job in an environment of that version, or set "
                                       "OUTBOARD_SIAL_PYTHON to its program");
}

// Loads the user's library of Python, if it lies beside his program. The library that embeds Python
// then takes this one, because both have the same name.
void load_library_of(const PythonFound& python, const std::string& version) {
  std::error_code failed;
  const auto program = std::filesystem::canonical(python.executable, failed);
  if (failed || python.version.empty()) return;
  const auto library =
      program.parent_path().parent_path() / "lib" / ("libpython" + version + ".so.1.0");
  dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
}

Result<const ob_sial_python_host*> open_host(const PythonFound& python) {
  const auto found = libraries();
  OB_ASSIGN_OR_RETURN(const std::string version, fitting(found, python));
  load_library_of(python, version);
  void* const library = dlopen(found.at(version).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Status(Code::unavailable, "is in Python, whose library cannot be opened (" +
                                         std::string(dlerror()) + "); install Python " + version +
                                         " with its shared library");
  }
  const auto get =
      reinterpret_cast<const ob_sial_python_host* (*)()>(dlsym(library, "ob_sial_python"));
  if (get == nullptr || get()->version != OB_SIAL_PYTHON_VERSION) {
    return Status(Code::unavailable,
                  "is in Python, and " + found.at(version).string() +
                      " belongs to another version of Outboard; run `outboard build`");
  }
  const ob_sial_python_host* const host = get();
  const std::string executable = python.version.empty() ? "" : python.executable.string();
  if (const char* const problem = host->start(executable.c_str()); problem != nullptr) {
    return Status(Code::unavailable, "needs Python " + version + " with NumPy (" + problem +
                                         "; the environment is " +
                                         (executable.empty() ? "that of the library" : executable) +
                                         "); start the job in an environment that has them, or set "
                                         "OUTBOARD_SIAL_PYTHON to its program");
  }
  return host;
}

}  // namespace

PythonFound find_python() {
  PythonFound python;
  python.executable = variable("OUTBOARD_SIAL_PYTHON");
  if (const std::string folder = variable("VIRTUAL_ENV");
      python.executable.empty() && !folder.empty()) {
    python.executable = std::filesystem::path(folder) / "bin" / "python3";
  }
  if (python.executable.empty()) python.executable = on_path("python3");
  python.version = version_of(python.executable);
  return python;
}

Status load_python_plugin(const std::filesystem::path& file, const AddFunction& add) {
  static const Result<const ob_sial_python_host*> host = open_host(find_python());
  OB_RETURN_IF_ERROR(host.status());
  const auto pass_on = [](void* to, const ob_sial_python_entry* entry) {
    const auto call = [function = entry->function](auto... arguments) {
      return (*host)->call(function, arguments...);
    };
    (*static_cast<const AddFunction*>(to))(entry->name, entry->intents,
                                           PluginFunction{entry->flags, call});
  };
  const char* const problem = (*host)->load(file.c_str(), const_cast<AddFunction*>(&add), pass_on);
  if (problem != nullptr) return {Code::invalid_argument, problem};
  return {};
}

}  // namespace ob::sial
