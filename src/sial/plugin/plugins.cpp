#include "sial/plugin/plugins.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "outboard/sial.h"
#include "sial/plugin/plugin_call.hpp"

namespace ob::sial {
namespace {

constexpr std::size_t kMostEntries = 4096;

Status bad_plugin(const std::string& path, const std::string& why) {
  return {Code::invalid_argument, "the plug-in " + path + " " + why};
}

// Checks what a plug-in says of an entry.
Status check_entry(const ob_sial_entry& entry) {
  if (entry.name == nullptr || entry.intents == nullptr || entry.function == nullptr) {
    return {Code::invalid_argument, "has an entry without name, intents or function"};
  }
  const std::string_view intents = entry.intents;
  if (intents.size() > kMaxArguments ||
      intents.find_first_not_of("rwu") != std::string_view::npos) {
    return {Code::invalid_argument, "declares " + std::string(entry.name) + " with the intents `" +
                                        std::string(intents) + "`; use r, w and u, at most 16"};
  }
  return {};
}

Status add_entries(const std::string& path, const ob_sial_table& table, const Job& job,
                   SuperFunctions& functions) {
  for (std::uint32_t i = 0; i < table.count; ++i) {
    const ob_sial_entry& entry = table.entries[i];
    if (const Status checked = check_entry(entry); !checked.ok()) {
      return bad_plugin(path, checked.message());
    }
    const auto call = [entry, &job](CallContext& context, std::span<CallArgument> arguments) {
      return call_plugin(entry, job, context, arguments);
    };
    if (!functions.try_emplace(entry.name, KnownFunction{entry.intents, call}).second) {
      return bad_plugin(path, "declares " + std::string(entry.name) + ", which is there already");
    }
  }
  return {};
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
    const Status added = path.extension() == ".py"
                             ? bad_plugin(name, "is in Python, which workers do not run yet")
                             : add_plugin(path.string(), job, functions);
    if (!added.ok()) problems += (problems.empty() ? "" : "\n") + added.message();
  }
  if (problems.empty()) return {};
  return {Code::invalid_argument, problems};
}

}  // namespace ob::sial
