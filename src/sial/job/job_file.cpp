#include "sial/job/job_file.hpp"

namespace ob::sial {

Status JobFile::refuse(const toml::node& at, const std::string& problem, const std::string& why,
                       const std::string& suggestion) const {
  return Status(Code::invalid_argument, shown_name + ":" + std::to_string(at.source().begin.line) +
                                            ": " + problem + " (" + why + ") " + suggestion);
}

Status JobFile::check_keys(const toml::table& table, const std::vector<std::string>& known,
                           const std::string& of) const {
  for (const auto& [key, node] : table) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    const std::string nearest = nearest_name(fold_case(key.str()), known);
    std::string all;
    for (const std::string& one : known) all += (all.empty() ? "" : ", ") + one;
    return refuse(node, "unknown key '" + std::string(key.str()) + "'", of + " has no such key",
                  nearest.empty() ? "use one of " + all : "write '" + nearest + "'");
  }
  return {};
}

Result<const toml::table*> JobFile::table_at(const toml::table& table, const char* key) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return static_cast<const toml::table*>(nullptr);
  if (node->as_table() != nullptr) return node->as_table();
  return refuse(*node, std::string("'") + key + "' is no table", "it has several values",
                std::string("write [") + key + "] and one value per line");
}

}  // namespace ob::sial
