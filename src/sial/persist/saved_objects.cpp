#include "sial/persist/saved_objects.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/checksum.hpp"
#include "sial/job/toml.hpp"
#include "sial/persist/durable_file.hpp"
#include "sial/persist/run_progress_text.hpp"

namespace ob::sial {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTableName = "saved.toml";
constexpr const char* kFilesName = "files-";

Status unavailable(const fs::path& path, const std::string& why) {
  return {Code::unavailable, "R11 " + path.string() + ": " + why};
}

Status damaged_table(const fs::path& path, const std::string& why) {
  return {Code::invalid_argument, "R12 " + path.string() + " is damaged (" + why +
                                      "); remove the job's state folder to begin anew"};
}

// Labels and names of files have no characters that would need an escape.
std::string quoted(const std::string& text) { return '"' + text + '"'; }

template <class Range, class Text>
std::string list_of(const Range& range, Text text) {
  std::string list = "[";
  for (const auto& item : range) list += (list.size() > 1 ? ", " : "") + text(item);
  return list + "]";
}

std::string exact(double value) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  std::string made(text.data(), end);
  // TOML tells numbers with a point or an exponent from integers.
  if (made.find_first_of(".en") == std::string::npos) made += ".0";
  return made;
}

bool read_dimension(const toml::table& from, SavedDimension& dimension) {
  const auto table = from["table"].value<std::string>();
  const auto lower = from["lower"].value<std::int64_t>();
  const toml::array* extents = from["extents"].as_array();
  if (!table || !lower || extents == nullptr) return false;
  dimension.table = *table;
  dimension.lower = *lower;
  for (const toml::node& extent : *extents) {
    const auto number = extent.value<std::int64_t>();
    if (!number) return false;
    dimension.extents.push_back(*number);
  }
  return true;
}

bool read_object(const toml::table& from, SavedObject& object) {
  object.program = from["program"].value_or(std::string());
  object.distributed = from["distributed"].value_or(false);
  if (const toml::array* files = from["files"].as_array()) {
    for (const toml::node& file : *files) object.files.push_back(file.value_or(std::string()));
  }
  const toml::array* dimensions = from["dimension"].as_array();
  if (dimensions == nullptr) {
    const auto value = from["value"].value<double>();
    object.value = value.value_or(0);
    return value.has_value();
  }
  for (const toml::node& node : *dimensions) {
    const toml::table* dimension = node.as_table();
    if (dimension == nullptr || !read_dimension(*dimension, object.dimensions.emplace_back())) {
      return false;
    }
  }
  return true;
}

// Returns the first lines of a table. The second one has the checksum of the lines that follow.
std::string head_of(std::string_view rest) {
  std::array<char, 17> digits{};
  const std::uint64_t sum = checksum(std::as_bytes(std::span(rest)));
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(sum));
  return "sial_saved = 1\nchecksum = " + quoted(digits.data()) + "\n";
}

std::string text_of(const SavedTable& table) {
  std::string text;
  for (const auto& [label, object] : table.objects) {
    text += "\n[object." + quoted(label) + "]\nprogram = " + quoted(object.program) + "\n";
    if (object.dimensions.empty()) {
      text += "value = " + exact(object.value) + "\n";
      continue;
    }
    text += std::string("distributed = ") + (object.distributed ? "true" : "false") + "\n";
    text += "files = " + list_of(object.files, quoted) + "\n";
    for (const SavedDimension& dimension : object.dimensions) {
      text +=
          "[[object." + quoted(label) + ".dimension]]\ntable = " + quoted(dimension.table) +
          "\nlower = " + std::to_string(dimension.lower) + "\nextents = " +
          list_of(dimension.extents, [](std::int64_t extent) { return std::to_string(extent); }) +
          "\n";
    }
  }
  if (table.run) text += progress_text(*table.run);
  return head_of(text) + text;
}

bool has_checksum(std::string_view text) {
  const std::size_t first = text.find('\n');
  const std::size_t second = first == std::string_view::npos ? first : text.find('\n', first + 1);
  if (second == std::string_view::npos) return false;
  return text.substr(0, second + 1) == head_of(text.substr(second + 1));
}

// Returns the folders of files, and the files, relative to the folder of saved objects.
std::pair<std::set<std::string>, std::set<std::string>> named_in(const SavedTable& table) {
  std::pair<std::set<std::string>, std::set<std::string>> names;
  const auto add = [&](const std::string& file) {
    names.first.insert(file.substr(0, file.find('/')));
    names.second.insert(file);
  };
  for (const auto& [label, object] : table.objects) std::ranges::for_each(object.files, add);
  if (table.run) std::ranges::for_each(table.run->files(), add);
  return names;
}

}  // namespace

std::vector<SavedDimension> saved_dimensions(const Program& program, const Layout& layout,
                                             const Array& array) {
  std::vector<SavedDimension> dimensions;
  for (const std::uint32_t index : array.indices) {
    SavedDimension& dimension = dimensions.emplace_back();
    const Layout::IndexRange& range = layout.range(index);
    dimension.table = program.indices[index].table;
    dimension.lower = range.lower;
    if (dimension.table.empty()) {
      dimension.extents.push_back(range.count());
      continue;
    }
    for (std::int64_t segment = range.lower; segment <= range.upper; ++segment) {
      dimension.extents.push_back(layout.extent(index, segment));
    }
  }
  return dimensions;
}

Result<SavedTable> SavedObjects::read() const {
  const fs::path path = folder_ / kTableName;
  std::error_code error;
  if (!fs::exists(path, error)) return SavedTable();
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return unavailable(path, "cannot read it");
  const toml::parse_result parsed = toml::parse(text.str());
  if (!parsed) return damaged_table(path, std::string(parsed.error().description()));
  if (parsed.table()["sial_saved"].value_or(0) != 1) {
    return damaged_table(path, "another version has written it");
  }
  if (!has_checksum(text.str())) return damaged_table(path, "its checksum is wrong");
  SavedTable table;
  if (const toml::table* all = parsed.table()["object"].as_table()) {
    for (const auto& [label, node] : *all) {
      const toml::table* object = node.as_table();
      if (object == nullptr || !read_object(*object, table.objects[std::string(label.str())])) {
        return damaged_table(path, "object " + std::string(label.str()));
      }
    }
  }
  if (const toml::table* run = parsed.table()["run"].as_table()) {
    table.run = read_progress(*run);
    if (!table.run) return damaged_table(path, "the progress of its run");
  }
  return table;
}

Result<std::string> SavedObjects::new_files() const {
  std::error_code error;
  fs::create_directories(folder_, error);
  for (int number = 1; !error; ++number) {
    const std::string name = kFilesName + std::to_string(number);
    if (fs::create_directory(folder_ / name, error)) return name;
  }
  return unavailable(folder_, "cannot make a folder in it (" + error.message() + ")");
}

Status SavedObjects::commit(const SavedTable& table) const {
  const fs::path path = folder_ / kTableName;
  const fs::path next = folder_ / (std::string(kTableName) + ".new");
  const auto [folders, files] = named_in(table);
  for (const std::string& folder : folders) {
    OB_RETURN_IF_ERROR(synchronize(folder_ / folder).in("R11"));
  }
  std::error_code error;
  fs::remove(next, error);
  const std::string text = text_of(table);
  OB_RETURN_IF_ERROR(write_durably(next, std::as_bytes(std::span(text))).in("R11"));
  fs::rename(next, path, error);
  if (error) return unavailable(path, error.message());
  OB_RETURN_IF_ERROR(synchronize(folder_).in("R11"));
  remove_others(folders, files);
  return {};
}

// A file that cannot be removed only takes space.
void SavedObjects::remove_others(const std::set<std::string>& folders,
                                 const std::set<std::string>& files) const {
  std::error_code error;
  for (const fs::directory_entry& folder : fs::directory_iterator(folder_, error)) {
    const std::string name = folder.path().filename().string();
    if (!name.starts_with(kFilesName)) continue;
    if (!folders.contains(name)) {
      fs::remove_all(folder.path(), error);
      continue;
    }
    for (const fs::directory_entry& file : fs::directory_iterator(folder.path(), error)) {
      const std::string inside = name + "/" + file.path().filename().string();
      if (!files.contains(inside)) fs::remove(file.path(), error);
    }
  }
}

}  // namespace ob::sial
