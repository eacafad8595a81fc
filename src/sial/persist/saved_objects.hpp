#pragma once
// Objects that programs of a job save for later programs and runs.   docs/sial/jobs.md

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "sial/code/program.hpp"
#include "sial/job/layout.hpp"

namespace ob::sial {

/// One dimension of a saved array.
struct SavedDimension {
  std::string table;  ///< of segment extents; empty for a simple index
  std::int64_t lower = 1;
  std::vector<std::int64_t> extents;  ///< of the segments in the range; of a simple index: {count}
  friend bool operator==(const SavedDimension&, const SavedDimension&) = default;
};

/// A scalar has no dimensions.
struct SavedObject {
  std::string program;  ///< that saved it
  double value = 0;     ///< of a scalar
  bool distributed = false;
  std::vector<SavedDimension> dimensions;
  std::vector<std::string> files;  ///< in the folder of saved objects
};

/// By label.
using SavedTable = std::map<std::string, SavedObject>;

/// Returns the dimensions of an array as they are saved.
std::vector<SavedDimension> saved_dimensions(const Program& program, const Layout& layout,
                                             const Array& array);

/// The folder of a job with its saved objects. One file names them all and is replaced at once, so
/// that a crash leaves either all objects of a program or none of them.
/// Threads: owner only
class SavedObjects {
 public:
  explicit SavedObjects(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const noexcept { return folder_; }
  /// Returns all objects; none if nothing was saved.
  /// Errors: invalid_argument (R12) if the table is damaged; unavailable
  Result<SavedTable> read() const;
  /// Makes an empty folder for the files of a program, relative to folder().   Errors: unavailable
  Result<std::string> new_files() const;
  /// Replaces the table, and then removes the files that it does not name.   Errors: unavailable
  Status commit(const SavedTable& table) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace ob::sial
