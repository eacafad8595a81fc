#include "sial/persist/run_progress_text.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace ob::sial {
namespace {

// Names in jobs and of files have no characters that would need an escape.
std::string quoted_name(const std::string& text) { return '"' + text + '"'; }

std::string name_list(const std::vector<std::string>& names) {
  std::string list = "[";
  for (const std::string& name : names) list += (list.size() > 1 ? ", " : "") + quoted_name(name);
  return list + "]";
}

std::string number_list(const std::vector<std::int64_t>& numbers) {
  std::string list = "[";
  for (const std::int64_t number : numbers) {
    list += (list.size() > 1 ? ", " : "") + std::to_string(number);
  }
  return list + "]";
}

template <class Map, class Text>
std::string table_text(const std::string& name, const Map& map, Text text) {
  std::string table = "[run." + name + "]\n";
  for (const auto& [key, value] : map) table += quoted_name(key) + " = " + text(value) + "\n";
  return table;
}

bool read_names(const toml::node* node, std::vector<std::string>& names) {
  const toml::array* list = node != nullptr ? node->as_array() : nullptr;
  if (list == nullptr) return false;
  for (const toml::node& one : *list) {
    const auto name = one.value<std::string>();
    if (!name) return false;
    names.push_back(*name);
  }
  return true;
}

bool read_number(const toml::node& node, std::int64_t& number) {
  const auto value = node.value_exact<std::int64_t>();
  number = value.value_or(0);
  return value.has_value();
}

bool read_numbers(const toml::node& node, std::vector<std::int64_t>& numbers) {
  const toml::array* list = node.as_array();
  if (list == nullptr) return false;
  return std::all_of(list->begin(), list->end(), [&](const toml::node& one) {
    return read_number(one, numbers.emplace_back());
  });
}

template <class Map, class Read>
bool read_map(const toml::table& table, const char* name, Map& map, Read read) {
  const toml::table* part = table[name].as_table();
  if (part == nullptr) return false;
  return std::all_of(part->begin(), part->end(), [&](const auto& entry) {
    return read(entry.second, map[std::string(entry.first.str())]);
  });
}

bool read_checkpoint(const toml::table& table, Checkpoint& checkpoint) {
  if (!read_names(table.get("states"), checkpoint.states)) return false;
  if (!read_names(table.get("blocks"), checkpoint.blocks)) return false;
  const toml::table* arrays = table["arrays"].as_table();
  if (arrays == nullptr || checkpoint.states.size() != checkpoint.blocks.size()) return false;
  for (const auto& [key, files] : *arrays) {
    std::uint32_t number = 0;
    const std::string_view text = key.str();
    if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) {
      return false;
    }
    if (!read_names(&files, checkpoint.arrays[number])) return false;
  }
  return true;
}

}  // namespace

std::string progress_text(const RunProgress& progress) {
  std::vector<std::string> programs;
  std::vector<std::string> checksums;
  for (const JobIdentity::Code& code : progress.identity.codes) {
    programs.push_back(code.program);
    checksums.push_back(code.checksum);
  }
  std::vector<std::string> names;
  std::vector<std::string> files;
  for (const KeptStatic& kept : progress.statics) {
    names.push_back(kept.name);
    files.push_back(kept.file);
  }
  std::string text = "\n[run]\nfinished = " + std::to_string(progress.finished) +
                     "\nprograms = " + name_list(programs) + "\ncodes = " + name_list(checksums) +
                     "\nstatics = " + name_list(names) + "\nstatic_files = " + name_list(files) +
                     "\n";
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  text += table_text("ints", progress.identity.ints, number);
  text += table_text("segments", progress.identity.segments, number_list);
  text += table_text("subsegments", progress.identity.subsegments, number);
  if (!progress.checkpoint) return text;
  text += "[run.checkpoint]\nstates = " + name_list(progress.checkpoint->states) +
          "\nblocks = " + name_list(progress.checkpoint->blocks) + "\n[run.checkpoint.arrays]\n";
  for (const auto& [array, list] : progress.checkpoint->arrays) {
    text += std::to_string(array) + " = " + name_list(list) + "\n";
  }
  return text;
}

std::optional<RunProgress> read_progress(const toml::table& table) {
  RunProgress progress;
  const auto finished = table["finished"].value<std::int64_t>();
  std::vector<std::string> programs;
  std::vector<std::string> checksums;
  std::vector<std::string> names;
  std::vector<std::string> files;
  const bool lists =
      read_names(table.get("programs"), programs) && read_names(table.get("codes"), checksums) &&
      read_names(table.get("statics"), names) && read_names(table.get("static_files"), files);
  if (!lists || !finished || *finished < 0) return std::nullopt;
  if (programs.size() != checksums.size() || names.size() != files.size()) return std::nullopt;
  progress.finished = static_cast<std::uint64_t>(*finished);
  for (std::size_t i = 0; i < programs.size(); ++i) {
    progress.identity.codes.push_back({programs[i], checksums[i]});
  }
  for (std::size_t i = 0; i < names.size(); ++i) progress.statics.push_back({names[i], files[i]});
  JobIdentity& identity = progress.identity;
  const bool maps = read_map(table, "ints", identity.ints, read_number) &&
                    read_map(table, "segments", identity.segments, read_numbers) &&
                    read_map(table, "subsegments", identity.subsegments, read_number);
  if (!maps) return std::nullopt;
  const toml::table* checkpoint = table["checkpoint"].as_table();
  if (checkpoint != nullptr && !read_checkpoint(*checkpoint, progress.checkpoint.emplace())) {
    return std::nullopt;
  }
  return progress;
}

}  // namespace ob::sial
