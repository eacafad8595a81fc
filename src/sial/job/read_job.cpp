#include "sial/job/read_job.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "sial/job/job_file.hpp"

namespace ob::sial {
namespace {

constexpr std::int64_t kJobVersion = 1;
// The sum of the extents of a table. Products of eight such numbers are checked in bind().
constexpr std::int64_t kLongestAxis = std::int64_t{1} << 40;
constexpr std::size_t kLongestFolderName = 200;  // file systems take 255 bytes, with suffixes

bool never_a_value(const toml::table&) { return false; }

Status read_version(const JobFile& file, const toml::table& root) {
  const toml::node* version = root.get("sial_job");
  const std::string suggestion = "write sial_job = 1 in the first line";
  if (version == nullptr)
    return file.refuse(root, "'sial_job' is missing", "it is the version of the job's form",
                       suggestion);
  if (version->value_exact<std::int64_t>() == kJobVersion) return {};
  return file.refuse(*version, "unknown version of a job", "this runtime reads version 1",
                     suggestion);
}

Status read_strings(const JobFile& file, const toml::table& root, const char* key,
                    std::vector<std::string>& list) {
  const toml::node* node = root.get(key);
  if (node == nullptr) return {};
  const Status wrong = file.refuse(*node, std::string("'") + key + "' is no list of names",
                                   "each is a text", std::string("write ") + key + " = [\"...\"]");
  if (node->as_array() == nullptr) return wrong;
  for (const toml::node& entry : *node->as_array()) {
    const auto text = entry.value_exact<std::string>();
    if (!text || text->empty()) return wrong;
    list.push_back(*text);
  }
  return {};
}

Status read_name(const JobFile& file, const toml::table& root, Job& job) {
  const toml::node* node = root.get("name");
  if (node == nullptr) return {};
  const auto text = node->value_exact<std::string>();
  if (!text || !is_folder_name(*text))
    return file.refuse(*node, "'name' is no name", "a folder gets this name",
                       "use letters, digits, '.', '-' and '_', and begin with a letter or digit");
  job.name = *text;
  return {};
}

Status read_ints(const JobFile& file, const toml::table& root, Job& job) {
  OB_ASSIGN_OR_RETURN(const toml::table* table, file.table_at(root, "ints"));
  if (table == nullptr) return {};
  return file.each_name(
      *table, "", never_a_value, [&](const std::string& name, const toml::node& node) -> Status {
        const auto value = node.value_exact<std::int64_t>();
        if (value) return file.add(job.ints, name, *value, node);
        return file.refuse(node, "int '" + name + "' has no integer", "[ints] contains integers",
                           "write " + name + " = 6, or move it to [scalars]");
      });
}

Status read_scalars(const JobFile& file, const toml::table& root, Job& job) {
  OB_ASSIGN_OR_RETURN(const toml::table* table, file.table_at(root, "scalars"));
  if (table == nullptr) return {};
  return file.each_name(
      *table, "", never_a_value, [&](const std::string& name, const toml::node& node) -> Status {
        const bool number = node.is_floating_point() || node.is_integer();
        if (number) return file.add(job.scalars, name, node.value_or(0.0), node);
        return file.refuse(node, "scalar '" + name + "' has no number",
                           "[scalars] contains numbers", "write " + name + " = 1.0e-8");
      });
}

Status read_table_extents(const JobFile& file, const std::string& name, const toml::node& node,
                          std::vector<std::int64_t>& extents) {
  const Status wrong = file.refuse(node, "segment table '" + name + "' is wrong",
                                   "it is a list of extents from 1, with a sum of at most 2^40",
                                   "write " + name + " = [8, 8, 5]");
  if (node.as_array() == nullptr) return wrong;
  std::int64_t sum = 0;
  for (const toml::node& entry : *node.as_array()) {
    const auto extent = entry.value_exact<std::int64_t>();
    if (!extent || *extent < 1 || *extent > kLongestAxis - sum) return wrong;
    sum += *extent;
    extents.push_back(*extent);
  }
  return {};
}

Status read_segments(const JobFile& file, const toml::table& root, Job& job) {
  OB_ASSIGN_OR_RETURN(const toml::table* table, file.table_at(root, "segments"));
  if (table == nullptr) return {};
  return file.each_name(*table, "", never_a_value,
                        [&](const std::string& name, const toml::node& node) -> Status {
                          std::vector<std::int64_t> extents;
                          OB_RETURN_IF_ERROR(read_table_extents(file, name, node, extents));
                          return file.add(job.segments, name, std::move(extents), node);
                        });
}

Status read_subsegments(const JobFile& file, const toml::table& root, Job& job) {
  OB_ASSIGN_OR_RETURN(const toml::table* table, file.table_at(root, "subsegments"));
  if (table == nullptr) return {};
  std::vector<std::string> tables;
  for (const auto& [name, extents] : job.segments) tables.push_back(name);
  return file.each_name(
      *table, "", never_a_value, [&](const std::string& name, const toml::node& node) -> Status {
        if (!job.segments.contains(name)) {
          const std::string nearest = nearest_name(name, tables);
          return file.refuse(node, "subsegments of '" + name + "', which has no segments",
                             "[segments] names the tables",
                             nearest.empty() ? "add it there" : "write '" + nearest + "'");
        }
        const auto number = node.value_exact<std::int64_t>();
        if (!number || *number < 1)
          return file.refuse(node, "'" + name + "' has no number of subsegments",
                             "it is an integer from 1", "write " + name + " = 4");
        return file.add(job.subsegments, name, *number, node);
      });
}

Status read_config_value(const JobFile& file, const std::string& key, const toml::node& node,
                         ConfigValue& value) {
  if (const auto flag = node.value_exact<bool>()) {
    value = *flag;
  } else if (const auto number = node.value_exact<std::int64_t>()) {
    value = *number;
  } else if (const auto real = node.value_exact<double>()) {
    value = *real;
  } else if (const auto text = node.value_exact<std::string>()) {
    value = *text;
  } else {
    return file.refuse(node, "'" + key + "' has no single value",
                       "it is a text, a number, true or false", "use several keys");
  }
  return {};
}

Status read_config(const JobFile& file, const toml::table& root, Job& job) {
  OB_ASSIGN_OR_RETURN(const toml::table* table, file.table_at(root, "config"));
  if (table == nullptr) return {};
  for (const auto& [program, node] : *table) {
    const toml::table* values = node.as_table();
    const std::string name = fold_case(program.str());
    if (values == nullptr)
      return file.refuse(node, "'" + name + "' has no keys",
                         "[config] contains a table per program", "write [config." + name + "]");
    std::map<std::string, ConfigValue> entries;
    for (const auto& [key, value] : *values) {
      const std::string name_of_key(key.str());
      OB_RETURN_IF_ERROR(read_config_value(file, name_of_key, value, entries[name_of_key]));
    }
    OB_RETURN_IF_ERROR(file.add(job.config, name, std::move(entries), node));
  }
  return {};
}

Status read_all(const JobFile& file, const toml::table& root, Job& job) {
  OB_RETURN_IF_ERROR(
      file.check_keys(root,
                      {"sial_job", "name", "programs", "plugins", "ints", "scalars", "segments",
                       "subsegments", "arrays", "int_arrays", "config", "run"},
                      "a job"));
  OB_RETURN_IF_ERROR(read_version(file, root));
  OB_RETURN_IF_ERROR(read_name(file, root, job));
  OB_RETURN_IF_ERROR(read_strings(file, root, "programs", job.programs));
  if (job.programs.empty())
    return file.refuse(root, "the job has no programs", "it runs them one after another",
                       "write programs = [\"product.sial\"]");
  OB_RETURN_IF_ERROR(read_strings(file, root, "plugins", job.plugins));
  OB_RETURN_IF_ERROR(read_ints(file, root, job));
  OB_RETURN_IF_ERROR(read_scalars(file, root, job));
  OB_RETURN_IF_ERROR(read_segments(file, root, job));
  OB_RETURN_IF_ERROR(read_subsegments(file, root, job));
  OB_RETURN_IF_ERROR(read_job_arrays(file, root, job));
  OB_RETURN_IF_ERROR(read_config(file, root, job));
  return read_run_defaults(file, root, job.run);
}

}  // namespace

bool is_folder_name(std::string_view name) noexcept {
  const auto is_sign = [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9');
  };
  return !name.empty() && name.size() <= kLongestFolderName && is_sign(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_sign(c) || c == '.' || c == '-' || c == '_'; });
}

Result<Job> parse_job(std::string_view text, const std::filesystem::path& file) {
  const toml::parse_result parsed = toml::parse(text, file.string());
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return Status(Code::invalid_argument,
                  file.string() + ":" + std::to_string(error.source().begin.line) + ": no TOML (" +
                      std::string(error.description()) +
                      ") correct the line; docs/sial/jobs.md has an example");
  }
  const JobFile source{file.string(), file.parent_path()};
  Job job;
  job.folder = file.parent_path();
  job.name = file.stem().string();
  OB_RETURN_IF_ERROR(read_all(source, parsed.table(), job));
  return job;
}

Result<Job> read_job(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.is_open() || in.bad())
    return Status(Code::unavailable, file.string() + ": cannot be read (" + std::strerror(errno) +
                                         ") check its name and permissions");
  return parse_job(text, file);
}

}  // namespace ob::sial
