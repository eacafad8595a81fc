#include "sial/persist/saved_objects.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>

#include "base/fd.hpp"
#include "sial/job/toml.hpp"

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

std::string text_of(const SavedTable& table) {
  std::string text = "sial_saved = 1\n";
  for (const auto& [label, object] : table) {
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
  return text;
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

// Waits until the disk has a file or a folder.
Status synchronize(const fs::path& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || ::fsync(file.get()) != 0) {
    return unavailable(path, std::string("the disk does not take it (") + strerror(errno) + ")");
  }
  return {};
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
  SavedTable objects;
  if (const toml::table* all = parsed.table()["object"].as_table()) {
    for (const auto& [label, node] : *all) {
      const toml::table* object = node.as_table();
      if (object == nullptr || !read_object(*object, objects[std::string(label.str())])) {
        return damaged_table(path, "object " + std::string(label.str()));
      }
    }
  }
  return objects;
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
  std::set<std::string> used;
  for (const auto& [label, object] : table) {
    for (const std::string& file : object.files) {
      used.insert(file.substr(0, file.find('/')));
      OB_RETURN_IF_ERROR(synchronize((folder_ / file).parent_path()));
    }
  }
  {
    std::ofstream file(next);
    file << text_of(table);
    file.flush();
    if (!file) return unavailable(next, "cannot write it");
  }
  OB_RETURN_IF_ERROR(synchronize(next));
  std::error_code error;
  fs::rename(next, path, error);
  if (error) return unavailable(path, error.message());
  OB_RETURN_IF_ERROR(synchronize(folder_));
  // A file that cannot be removed only takes space.
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kFilesName) && !used.contains(name)) fs::remove_all(entry.path(), error);
  }
  return {};
}

}  // namespace ob::sial
