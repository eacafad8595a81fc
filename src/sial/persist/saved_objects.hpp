#pragma once
// Objects that programs of a job save for later programs and runs.   docs/sial/jobs.md

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "sial/code/program.hpp"
#include "sial/job/layout.hpp"
#include "sial/persist/run_progress.hpp"

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

struct SavedTable {
  std::map<std::string, SavedObject> objects;  ///< by label
  std::optional<RunProgress> run;              ///< the last run that kept its progress
};

/// Returns the dimensions of an array as they are saved.
std::vector<SavedDimension> saved_dimensions(const Program& program, const Layout& layout,
                                             const Array& array);

/// The folder of a job with its saved objects and the progress of its run. One file names them all
/// and is replaced at once, so that a crash leaves either all objects of a program or none of them,
/// and the progress fits them.
/// Threads: owner only
class SavedObjects {
 public:
  explicit SavedObjects(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const noexcept { return folder_; }
  /// Returns the table; an empty one if nothing was saved.
  /// Errors: invalid_argument (R12) if the table is damaged; unavailable
  Result<SavedTable> read() const;
  /// Makes an empty folder for the files of a program, relative to folder().   Errors: unavailable
  Result<std::string> new_files() const;
  /// Replaces the table, and then removes the files that it does not name. All its files are on the
  /// disk already.   Errors: unavailable
  Status commit(const SavedTable& table) const;

 private:
  void remove_others(const std::set<std::string>& folders,
                     const std::set<std::string>& files) const;

  std::filesystem::path folder_;
};

}  // namespace ob::sial
