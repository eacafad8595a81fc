#include "sial/plugin/plugins.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "outboard/sial.h"
#include "sial/plugin/plugin_call.hpp"
#include "sial/plugin/python_plugins.hpp"

namespace ob::sial {
namespace {

constexpr std::size_t kMostEntries = 4096;

Status bad_plugin(const std::string& path, const std::string& why) {
  return {Code::invalid_argument, "the plug-in " + path + " " + why};
}

// Adds a function, and checks what the plug-in says of it.
Status add_function(const char* name, const char* intents, const PluginFunction& function,
                    const Job& job, SuperFunctions& functions) {
  const std::string_view letters = intents;
  if (letters.size() > kMaxArguments ||
      letters.find_first_not_of("rwu") != std::string_view::npos) {
    return {Code::invalid_argument, "declares " + std::string(name) + " with the intents `" +
                                        intents + "`; use r, w and u, at most 16"};
  }
  KnownFunction known;
  known.intents = intents;
  known.takes_strides = (function.flags & OB_SIAL_TAKES_STRIDES) != 0;
  known.overwrites = (function.flags & OB_SIAL_OVERWRITES) != 0;
  known.function = [function, &job](CallContext& context, std::span<CallArgument> arguments) {
    return call_plugin(function, job, context, arguments);
  };
  if (!functions.try_emplace(name, std::move(known)).second) {
    return {Code::invalid_argument, "declares " + std::string(name) + ", which is there already"};
  }
  return {};
}

Status add_entries(const std::string& path, const ob_sial_table& table, const Job& job,
                   SuperFunctions& functions) {
  for (std::uint32_t i = 0; i < table.count; ++i) {
    const ob_sial_entry& entry = table.entries[i];
    if (entry.name == nullptr || entry.intents == nullptr || entry.function == nullptr) {
      return bad_plugin(path, "has an entry without name, intents or function");
    }
    const Status added =
        add_function(entry.name, entry.intents, {entry.flags, entry.function}, job, functions);
    if (!added.ok()) return bad_plugin(path, added.message());
  }
  return {};
}

Status add_python_plugin(const std::string& path, const Job& job, SuperFunctions& functions) {
  Status problem;
  const auto add = [&](const char* name, const char* intents, const PluginFunction& function) {
    const Status added = add_function(name, intents, function, job, functions);
    if (problem.ok()) problem = added;
  };
  Status loaded = load_python_plugin(path, add);
  if (loaded.ok()) loaded = problem;
  return loaded.ok() ? loaded : bad_plugin(path, loaded.message());
}

Status add_plugin(const std::string& path, const Job& job, SuperFunctions& functions) {
  // Local symbols, so that two plug-ins may have functions of one name.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return bad_plugin(path, "cannot be opened: " + std::string(dlerror()));
  const auto plugin =
      reinterpret_cast<const ob_sial_table* (*)()>(dlsym(library, "ob_sial_plugin"));
  if (plugin == nullptr) return bad_plugin(path, "does not export ob_sial_plugin()");
  const ob_sial_table* const table = plugin();
  if (table == nullptr || table->version != OB_SIAL_VERSION ||
      table->entry_bytes != sizeof(ob_sial_entry) || table->count > kMostEntries ||
      (table->count != 0 && table->entries == nullptr)) {
    return bad_plugin(path, "was built for another version of outboard/sial.h; build it again");
  }
  return add_entries(path, *table, job, functions);
}

}  // namespace

Status add_plugins(const Job& job, SuperFunctions& functions) {
  std::string problems;
  for (const std::string& name : job.plugins) {
    // A path counts from the job's folder, and dlopen must not search for it.
    const std::filesystem::path path = std::filesystem::absolute(job.folder / name);
    const auto add = path.extension() == ".py" ? add_python_plugin : add_plugin;
    const Status added = add(path.string(), job, functions);
    if (!added.ok()) problems += (problems.empty() ? "" : "\n") + added.message();
  }
  if (problems.empty()) return {};
  return {Code::invalid_argument, problems};
}

}  // namespace ob::sial
