#pragma once
// Parts of reading a job file. They share the name of the file and the form of messages.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "sial/job/job.hpp"
#include "sial/job/nearest_name.hpp"
#include "sial/job/toml.hpp"

namespace ob::sial {

/// The file that is read.
struct JobFile {
  std::string shown_name;        ///< for messages
  std::filesystem::path folder;  ///< relative paths count from here

  /// Returns "FILE:LINE: PROBLEM (WHY) SUGGESTION" for a place in the file.
  Status refuse(const toml::node& at, const std::string& problem, const std::string& why,
                const std::string& suggestion) const;

  /// Refuses a key that is not among `known`, and suggests the nearest.
  Status check_keys(const toml::table& table, const std::vector<std::string>& known,
                    const std::string& of) const;

  /// Returns the table of a key, null if there is none.
  /// Errors:  invalid_argument if the key has another type
  Result<const toml::table*> table_at(const toml::table& table, const char* key) const;

  /// Calls `read(name, node)` for each key of a table of named objects, with names in lower case.
  /// A table for which `is_value` is false contains qualified names: their parts are joined by
  /// dots.
  template <class IsValue, class Read>
  Status each_name(const toml::table& table, const std::string& prefix, IsValue is_value,
                   Read read) const {
    for (const auto& [key, node] : table) {
      const std::string name = prefix + fold_case(key.str());
      const toml::table* inner = node.as_table();
      if (inner != nullptr && !is_value(*inner)) {
        OB_RETURN_IF_ERROR(each_name(*inner, name + ".", is_value, read));
      } else {
        OB_RETURN_IF_ERROR(read(name, node));
      }
    }
    return {};
  }

  /// Adds a named object to a map.
  /// Errors:  invalid_argument if the name exists, perhaps with other capital letters
  template <class Map, class Value>
  Status add(Map& map, const std::string& name, Value value, const toml::node& at) const {
    if (map.emplace(name, std::move(value)).second) return {};
    return refuse(at, "'" + name + "' is named twice", "capital letters do not count",
                  "leave one of them");
  }
};

/// Reads [arrays] and [int_arrays].
Status read_job_arrays(const JobFile& file, const toml::table& root, Job& job);

/// Reads [run].
Status read_run_defaults(const JobFile& file, const toml::table& root, RunDefaults& run);

}  // namespace ob::sial
