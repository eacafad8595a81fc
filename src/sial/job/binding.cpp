#include "sial/job/binding.hpp"

#include <map>
#include <set>

#include "sial/job/nearest_name.hpp"

namespace ob::sial {
namespace {

constexpr std::int64_t kDefaultParts = 4;  // of a segment
// Above these, products of numbers would overflow. No machine has such sizes.
constexpr std::int64_t kHighestSegment = std::int64_t{1} << 60;
constexpr std::int64_t kMostBlocks = std::int64_t{1} << 60;    // of an array
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;  // of a block, of a static

// Finds a name in a map of the job: the full one, or else the part behind the last dot.
template <class Map>
auto find_name(const Map& map, const std::string& name) {
  const auto found = map.find(name);
  const std::size_t dot = name.rfind('.');
  return found != map.end() || dot == std::string::npos ? found : map.find(name.substr(dot + 1));
}

class Binder {
 public:
  Binder(const Program& program, const Job& job) : program_(program), job_(job) {}

  Result<Binding> bind() {
    bind_variables();
    find_tables();
    if (!missing_.empty()) {
      return Status(Code::invalid_argument,
                    "program " + program_.name + ": the job lacks " + missing_ +
                        " (the program needs them) add them to the job file" + hint_);
    }
    for (const Index& index : program_.indices) OB_RETURN_IF_ERROR(bind_index(index));
    bound_.predefined.assign(program_.arrays.size(), nullptr);
    for (std::size_t array = 0; array < program_.arrays.size(); ++array)
      OB_RETURN_IF_ERROR(bind_array(array));
    return std::move(bound_);
  }

 private:
  // Notes an object that the job lacks.
  template <class Map>
  void miss(const char* sort, const std::string& name, const Map& map) {
    missing_ += (missing_.empty() ? "" : ", ") + (sort + (" " + name));
    std::vector<std::string> names;
    for (const auto& [known, value] : map) names.push_back(known);
    const std::string nearest = nearest_name(name, names);
    if (!nearest.empty()) hint_ += "; perhaps '" + nearest + "' means '" + name + "'";
  }

  void bind_variables() {
    for (const IntVariable& variable : program_.ints) {
      const auto found = find_name(job_.ints, variable.name);
      if (variable.predefined && found == job_.ints.end()) miss("int", variable.name, job_.ints);
      const bool given = variable.predefined && found != job_.ints.end();
      bound_.ints.push_back(given ? found->second : variable.initial);
    }
    for (const ScalarVariable& variable : program_.scalars) {
      const auto found = find_name(job_.scalars, variable.name);
      const bool given = variable.predefined && found != job_.scalars.end();
      if (variable.predefined && !given) miss("scalar", variable.name, job_.scalars);
      bound_.scalars.push_back(given ? found->second : variable.initial);
    }
  }

  void find_tables() {
    std::set<std::string> seen;
    for (const Index& index : program_.indices) {
      if (index.kind == IndexKind::segmented && !job_.segments.contains(index.table) &&
          seen.insert(index.table).second)
        miss("segment table", index.table, job_.segments);
    }
  }

  Status range_error(const Index& index, const Layout::IndexRange& range,
                     const std::string& why) const {
    return Status(Code::invalid_argument, "program " + program_.name + ": error R05: index " +
                                              index.name + " has the range " +
                                              std::to_string(range.lower) + ":" +
                                              std::to_string(range.upper) + " (" + why +
                                              ") correct [ints] or [segments] of the job");
  }

  std::int64_t value_of(const Bound& bound) const {
    return bound.variable ? bound_.ints[static_cast<std::size_t>(bound.value)] : bound.value;
  }

  Status bind_index(const Index& index) {
    Layout::IndexRange range;
    range.kind = index.kind;
    if (index.kind == IndexKind::subindex) {
      range.parent = index.parent;
      range.lower = 1;
      range.upper = most_parts(bound_.layout.range(index.parent));
      bound_.layout.indices.push_back(std::move(range));
      return {};
    }
    range.lower = value_of(index.lower);
    range.upper = value_of(index.upper);
    if (range.lower < -kHighestSegment || range.upper > kHighestSegment)
      return range_error(index, range, "2^60 is the highest number of a segment");
    if (range.lower > range.upper + 1)
      return range_error(index, range, "the lower bound is above the upper one");
    if (index.kind == IndexKind::segmented) OB_RETURN_IF_ERROR(bind_table(index, range));
    bound_.layout.indices.push_back(std::move(range));
    return {};
  }

  Status bind_table(const Index& index, Layout::IndexRange& range) const {
    range.extents = job_.segments.find(index.table)->second;
    const auto segments = static_cast<std::int64_t>(range.extents.size());
    if (range.lower < 1 || range.upper > segments)
      return range_error(
          index, range,
          "segment table " + index.table + " has segments 1 to " + std::to_string(segments));
    range.first.reserve(range.extents.size() + 1);
    range.first.push_back(1);
    for (const std::int64_t extent : range.extents)
      range.first.push_back(range.first.back() + extent);
    const auto parts = job_.subsegments.find(index.table);
    range.parts = parts == job_.subsegments.end() ? kDefaultParts : parts->second;
    return {};
  }

  // The largest number of subsegments of a segment in a range.
  static std::int64_t most_parts(const Layout::IndexRange& range) {
    std::int64_t longest = 0;
    for (std::int64_t segment = range.lower; segment <= range.upper; ++segment)
      longest = std::max(longest, range.extents[static_cast<std::size_t>(segment - 1)]);
    return std::min(range.parts, longest);
  }

  // Multiplies sizes of an array's dimensions.
  template <class Size>
  Status limit(const Array& array, std::int64_t most, const char* what, Size size) const {
    std::int64_t product = 1;
    for (const std::uint32_t index : array.indices) {
      const std::int64_t factor = size(index);
      if (factor > 0 && product > most / factor) {
        return Status(Code::invalid_argument,
                      "program " + program_.name + ": error R05: array " + array.name +
                          " has too many " + what + " (" + std::to_string(most) +
                          " are the most) correct [ints] or [segments] of the job");
      }
      product *= factor;
    }
    return {};
  }

  Status bind_array(std::size_t number) {
    const Array& array = program_.arrays[number];
    const Layout& layout = bound_.layout;
    OB_RETURN_IF_ERROR(limit(array, kMostElements, "elements in a block",
                             [&](auto index) { return layout.largest_extent(index); }));
    OB_RETURN_IF_ERROR(limit(array, kMostBlocks, "blocks",
                             [&](auto index) { return layout.range(index).count(); }));
    if (array.storage != Storage::static_) return {};
    OB_RETURN_IF_ERROR(limit(array, kMostElements, "elements",
                             [&](auto index) { return layout.elements(index); }));
    return array.predefined ? bind_predefined(number) : Status();
  }

  Status bind_predefined(std::size_t number) {
    const Array& array = program_.arrays[number];
    const auto found = find_name(job_.arrays, array.name);
    if (found == job_.arrays.end()) {
      bound_.warnings.push_back("program " + program_.name + ": the job lacks array " + array.name +
                                " (it begins with zeros) add it to [arrays] of the job");
      return {};
    }
    const std::vector<std::int64_t> wanted = shape_of(bound_.layout, array);
    if (found->second.shape != wanted) {
      return Status(Code::invalid_argument, "program " + program_.name + ": error R04: array " +
                                                array.name + " has the shape " +
                                                show(found->second.shape) +
                                                " in the job (its declaration has " + show(wanted) +
                                                ") correct the array or [segments] of the job");
    }
    bound_.predefined[number] = &found->second;
    return {};
  }

  static std::string show(const std::vector<std::int64_t>& shape) {
    std::string text;
    for (const std::int64_t extent : shape)
      text += (text.empty() ? "[" : ", ") + std::to_string(extent);
    return text.empty() ? "[]" : text + "]";
  }

  const Program& program_;
  const Job& job_;
  Binding bound_;
  std::string missing_, hint_;
};

}  // namespace

Result<Binding> bind(const Program& program, const Job& job) { return Binder(program, job).bind(); }

std::vector<std::int64_t> shape_of(const Layout& layout, const Array& array) {
  std::vector<std::int64_t> shape;
  for (const std::uint32_t index : array.indices) shape.push_back(layout.elements(index));
  return shape;
}

}  // namespace ob::sial
