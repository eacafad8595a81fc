// Arrays of a job file: in files, or inline.

#include "sial/job/job_file.hpp"
#include "sial/job/npy.hpp"

namespace ob::sial {
namespace {

bool is_array_value(const toml::table& table) {
  return table.contains("file") || table.contains("data") || table.contains("shape");
}

// The number of elements; nothing if that is above what an inline array can have.
std::optional<std::size_t> product_of(const std::vector<std::int64_t>& shape) {
  constexpr std::size_t kMost = std::size_t{1} << 40;
  std::size_t product = 1;
  for (const std::int64_t extent : shape) {
    const auto factor = static_cast<std::size_t>(extent);
    if (factor > 0 && product > kMost / factor) return {};
    product *= factor;
  }
  return product;
}

std::optional<double> number_of(const toml::node& node, double /*type*/) {
  if (!node.is_floating_point() && !node.is_integer()) return {};
  return node.value<double>();
}

std::optional<std::int64_t> number_of(const toml::node& node, std::int64_t /*type*/) {
  return node.value_exact<std::int64_t>();
}

// Reads one array of doubles or integers.
template <class T>
class InlineReader {
 public:
  InlineReader(const JobFile& file, const std::string& name) : file_(file), name_(name) {}

  Result<Elements<T>> read(const toml::table& value) {
    OB_RETURN_IF_ERROR(file_.check_keys(value, {"file", "shape", "data"}, "an array"));
    const toml::node* data = value.get("data");
    if (data == nullptr || data->as_array() == nullptr)
      return file_.refuse(value, "array '" + name_ + "' has no data",
                          "it has neither file nor data",
                          "write { file = \"" + name_ + ".npy\" } or { data = [..] }");
    Elements<T> array;
    OB_RETURN_IF_ERROR(read_shape(value, array.shape));
    const bool has_shape = value.contains("shape");
    const bool nested = !data->as_array()->empty() && data->as_array()->front().is_array();
    std::vector<std::int64_t> found;
    if (nested) {
      find_shape(*data, found);
    } else {
      found.push_back(static_cast<std::int64_t>(data->as_array()->size()));
    }
    if (nested && has_shape && found != array.shape)
      return file_.refuse(*data, "data of array '" + name_ + "' has another shape",
                          "'shape' and the nesting of 'data' differ", "leave 'shape' out");
    if (!has_shape) array.shape = found;
    OB_RETURN_IF_ERROR(collect(*data, nested ? found.size() : 1, 0, found, array.data));
    if (product_of(array.shape) != array.data.size()) {
      return file_.refuse(
          *data, "array '" + name_ + "' has " + std::to_string(array.data.size()) + " elements",
          "its shape needs another number", "correct 'shape' or 'data'");
    }
    if (nested) array.data = from_c_order(array.data, array.shape);
    return array;
  }

 private:
  Status read_shape(const toml::table& value, std::vector<std::int64_t>& shape) const {
    const toml::node* node = value.get("shape");
    if (node == nullptr) return {};
    const Status wrong = file_.refuse(*node, "shape of array '" + name_ + "' is wrong",
                                      "it is a list of 1 to 8 extents", "write shape = [2, 2]");
    const toml::array* extents = node->as_array();
    if (extents == nullptr || extents->empty() || extents->size() > kMostRank) return wrong;
    for (const toml::node& entry : *extents) {
      const auto extent = entry.value_exact<std::int64_t>();
      if (!extent || *extent < 0) return wrong;
      shape.push_back(*extent);
    }
    return {};
  }

  // The shape that the first elements of nested lists have. collect() checks the others.
  static void find_shape(const toml::node& data, std::vector<std::int64_t>& shape) {
    for (const toml::node* at = &data; at->as_array() != nullptr; at = &at->as_array()->front()) {
      shape.push_back(static_cast<std::int64_t>(at->as_array()->size()));
      if (at->as_array()->empty()) return;
    }
  }

  // Appends the numbers in their order in the file. `depth` lists are around them.
  Status collect(const toml::node& data, std::size_t depth, std::size_t level,
                 const std::vector<std::int64_t>& shape, std::vector<T>& numbers) const {
    if (depth > kMostRank)
      return file_.refuse(data, "array '" + name_ + "' has too many dimensions", "8 are the most",
                          "join some of them");
    const toml::array* list = data.as_array();
    if (list == nullptr || static_cast<std::int64_t>(list->size()) != shape[level]) {
      return file_.refuse(data, "lists of array '" + name_ + "' have different lengths",
                          "all lists of one level have the same length", "complete the data");
    }
    for (const toml::node& entry : *list) {
      if (level + 1 < depth) {
        OB_RETURN_IF_ERROR(collect(entry, depth, level + 1, shape, numbers));
        continue;
      }
      const auto number = number_of(entry, T{});
      if (!number)
        return file_.refuse(entry, "an element of array '" + name_ + "' has a wrong type",
                            std::is_same_v<T, double> ? "it is a number" : "it is an integer",
                            "correct it");
      numbers.push_back(*number);
    }
    return {};
  }

  static constexpr std::size_t kMostRank = 8;
  const JobFile& file_;
  const std::string& name_;
};

template <class T>
Result<Elements<T>> read_array_file(const JobFile& file, const std::string& name,
                                    const toml::table& value) {
  const toml::node& node = *value.get("file");
  const auto path = node.value_exact<std::string>();
  if (!path || value.size() != 1)
    return file.refuse(node, "array '" + name + "' is unclear",
                       "an array in a file has nothing but the name of the file",
                       "write { file = \"" + name + ".npy\" }");
  auto read = read_npy(file.folder / *path);
  if (!read.ok()) {
    const Status status = read.status();
    return Status(status.code(), file.shown_name + ":" + std::to_string(node.source().begin.line) +
                                     ": array '" + name + "': " + status.message());
  }
  if (auto* elements = std::get_if<Elements<T>>(&*read)) return std::move(*elements);
  const bool doubles = std::is_same_v<T, double>;
  return file.refuse(node, "array '" + name + "' has elements of a wrong type",
                     doubles ? "[arrays] contains doubles" : "[int_arrays] contains integers",
                     doubles ? "save a.astype('<f8'), or move it to [int_arrays]"
                             : "save a.astype('<i8'), or move it to [arrays]");
}

template <class T>
Status read_arrays_of(const JobFile& file, const toml::table& root, const char* key,
                      std::map<std::string, Elements<T>>& arrays) {
  OB_ASSIGN_OR_RETURN(const toml::table* table, file.table_at(root, key));
  if (table == nullptr) return {};
  return file.each_name(
      *table, "", is_array_value, [&](const std::string& name, const toml::node& node) -> Status {
        const toml::table* value = node.as_table();
        if (value == nullptr)
          return file.refuse(node, "array '" + name + "' is no table", "it has a file or data",
                             "write " + name + " = { data = [..] }");
        OB_ASSIGN_OR_RETURN(Elements<T> array, value->contains("file")
                                                   ? read_array_file<T>(file, name, *value)
                                                   : InlineReader<T>(file, name).read(*value));
        return file.add(arrays, name, std::move(array), node);
      });
}

}  // namespace

Status read_job_arrays(const JobFile& file, const toml::table& root, Job& job) {
  OB_RETURN_IF_ERROR(read_arrays_of(file, root, "arrays", job.arrays));
  return read_arrays_of(file, root, "int_arrays", job.int_arrays);
}

}  // namespace ob::sial
