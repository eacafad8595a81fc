#include "sial/job/import_dat.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "sial/code/byte_fields.hpp"
#include "sial/code/program.hpp"
#include "sial/code/utf8.hpp"
#include "sial/job/nearest_name.hpp"

namespace ob::sial {
namespace {

constexpr std::int32_t kDatMagic = 23121991, kDatVersion = 1;

// The kinds of indices by their codes. Simple indices and subindices have no table in new jobs.
struct DatTable {
  std::int32_t code;
  const char* name;  // null: no table
};
constexpr DatTable kDatTables[] = {{1001, "ao"},    {1002, "mo"}, {1003, "moa"},  {1004, "mob"},
                                   {1005, nullptr}, {1006, "la"}, {1007, nullptr}};

// Reads numbers and texts one after another. After a failure, it remembers the first problem and
// returns zeros.
class DatReader {
 public:
  explicit DatReader(std::span<const std::byte> bytes) : rest_(bytes), size_(bytes.size()) {}

  bool ok() const { return problem_.empty(); }
  const std::string& problem() const { return problem_; }
  std::size_t offset() const { return size_ - rest_.size(); }
  bool at_end() const { return rest_.empty(); }

  void fail(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }

  std::int32_t take_int() {
    return static_cast<std::int32_t>(unsigned_at<std::uint32_t>(take(4), 0));
  }

  // A number of items of which each takes at least `item_bytes`.
  std::size_t take_count(std::size_t item_bytes) {
    const std::int32_t count = take_int();
    if (ok() && (count < 0 || static_cast<std::size_t>(count) > rest_.size() / item_bytes))
      fail("a list of " + std::to_string(count) + " entries does not fit the file");
    return ok() ? static_cast<std::size_t>(count) : 0;
  }

  std::string take_string() {
    const std::size_t length = take_count(1);  // with the NUL
    const auto bytes = take(length);
    if (!ok()) return {};
    const bool ends = length > 0 && bytes[length - 1] == std::byte{0};
    if (!ends || !is_text(bytes.first(length - 1))) {
      fail("a text is no UTF-8 with a NUL at its end");
      return {};
    }
    return {reinterpret_cast<const char*>(bytes.data()), length - 1};
  }

  std::string take_name() {
    std::string name = fold_case(take_string());
    if (ok() && name.empty()) fail("a name is empty");
    return name;
  }

  std::vector<std::int64_t> take_ints() {
    std::vector<std::int64_t> numbers(take_count(4));
    for (std::int64_t& number : numbers) number = take_int();
    return numbers;
  }

  std::vector<double> take_doubles() {
    std::vector<double> numbers(take_count(8));
    for (double& number : numbers) number = take_double();
    return numbers;
  }

  double take_double() { return f64_at(take(8), 0); }

 private:
  std::span<const std::byte> take(std::size_t size) {
    static constexpr std::byte kZeros[8]{};
    if (ok() && size > rest_.size()) fail("the file is cut");
    if (!ok()) return std::span(kZeros).first(std::min(size, sizeof(kZeros)));
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  std::span<const std::byte> rest_;
  std::size_t size_;
  std::string problem_;
};

void read_dat_tables(DatReader& in, Job& job) {
  for (std::size_t left = in.take_count(8); in.ok() && left > 0; --left) {
    const std::int32_t code = in.take_int();
    const std::vector<std::int64_t> extents = in.take_ints();
    const auto* const table =
        std::find_if(std::begin(kDatTables), std::end(kDatTables),
                     [&](const DatTable& known) { return known.code == code; });
    if (table == std::end(kDatTables))
      return in.fail("segment table " + std::to_string(code) + " is unknown");
    for (const std::int64_t extent : extents)
      if (extent < 1) return in.fail("a segment has " + std::to_string(extent) + " elements");
    if (table->name != nullptr) job.segments[table->name] = extents;
  }
}

// Returns whether an array of this shape has so many elements.
bool fits_shape(const std::vector<std::int64_t>& shape, std::size_t count) {
  const auto least = std::min_element(shape.begin(), shape.end());
  if (least == shape.end() || *least <= 0) return least != shape.end() && *least == 0 && count == 0;
  std::size_t left = count;
  for (const std::int64_t extent : shape) {
    const auto factor = static_cast<std::size_t>(extent);
    if (left == 0 || left % factor != 0) return false;
    left /= factor;
  }
  return left == 1;
}

template <class T>
void read_dat_arrays(DatReader& in, std::map<std::string, Elements<T>>& arrays) {
  for (std::size_t left = in.take_count(1); in.ok() && left > 0; --left) {
    const std::string name = in.take_name();
    const std::int32_t rank = in.take_int();
    Elements<T> array;
    array.shape = in.take_ints();
    if constexpr (std::is_same_v<T, double>) {
      array.data = in.take_doubles();
    } else {
      array.data = in.take_ints();
    }
    if (!in.ok()) return;
    const bool has_rank = rank > 0 && rank <= static_cast<std::int32_t>(kMaxRank) &&
                          static_cast<std::size_t>(rank) == array.shape.size();
    if (!has_rank || !fits_shape(array.shape, array.data.size()))
      return in.fail("array " + name + " has data that does not fit its shape");
    arrays[name] = std::move(array);
  }
}

void read_dat_config(DatReader& in, Job& job) {
  for (std::size_t left = in.take_count(8); in.ok() && left > 0; --left) {
    auto& entries = job.config[in.take_name()];
    for (std::size_t keys = in.take_count(8); in.ok() && keys > 0; --keys) {
      const std::string key = in.take_string();
      entries[key] = in.take_string();
    }
  }
}

void read_dat(DatReader& in, Job& job) {
  const std::int32_t magic = in.take_int(), version = in.take_int();
  if (magic != kDatMagic) return in.fail("the first number is not 23121991");
  if (version != kDatVersion)
    return in.fail("version " + std::to_string(version) + " is not 1, the only one");
  for (std::size_t left = in.take_count(4); in.ok() && left > 0; --left)
    job.programs.push_back(in.take_string());
  for (std::size_t left = in.take_count(8); in.ok() && left > 0; --left) {
    const std::string name = in.take_name();
    job.ints[name] = in.take_int();
  }
  for (std::size_t left = in.take_count(12); in.ok() && left > 0; --left) {
    const std::string name = in.take_name();
    job.scalars[name] = in.take_double();
  }
  read_dat_tables(in, job);
  read_dat_arrays(in, job.arrays);
  read_dat_arrays(in, job.int_arrays);
  read_dat_config(in, job);
  if (in.ok() && !in.at_end()) in.fail("bytes follow the end of the job");
  if (in.ok() && job.programs.empty()) in.fail("the job has no programs");
}

}  // namespace

Result<Job> parse_dat(std::span<const std::byte> bytes, const std::filesystem::path& file) {
  Job job;
  job.folder = file.parent_path();
  job.name = file.stem().string();
  DatReader in(bytes);
  read_dat(in, job);
  if (in.ok()) return job;
  return Status(Code::invalid_argument,
                file.string() + ": no older job file, or damaged at byte " +
                    std::to_string(in.offset()) + " (" + in.problem() +
                    ") write it again with the program that made it, or write a job in TOML");
}

Result<Job> import_dat(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.is_open() || in.bad())
    return Status(Code::unavailable, file.string() + ": cannot be read (" + std::strerror(errno) +
                                         ") check its name and permissions");
  return parse_dat(std::as_bytes(std::span(text)), file);
}

}  // namespace ob::sial
