#pragma once
// A program bound to a job: sizes of its indices, values of its variables.

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "sial/code/program.hpp"
#include "sial/job/job.hpp"
#include "sial/job/layout.hpp"

namespace ob::sial {

/// All numbers are those of the program's records.
struct Binding {
  Layout layout;
  std::vector<std::int64_t> ints;  ///< first values: of the job for predefined ones
  std::vector<double> scalars;     ///< likewise
  /// Per array: the data of a predefined static in the job. Null for other arrays, and for a
  /// predefined static that the job lacks, which begins with zeros. Owned by the Job.
  std::vector<const DoubleArray*> predefined;
  std::vector<std::string> warnings;  ///< one per predefined static that the job lacks
};

/// Finds everything in a job that a program needs, and checks that it fits. The job may name a
/// predefined object `program.name` by its full name, or else by `name`.
/// Memory:  the result points into `job`, which must live longer
/// Errors:  invalid_argument, which names all objects and segment tables that the job lacks;
///          R04 in the message if an array has another shape than its declaration; R05 if a range
///          is reversed by more than one or leaves its table
Result<Binding> bind(const Program& program, const Job& job);

/// Returns the shape of a whole array over its declared indices, none of which is a subindex.
std::vector<std::int64_t> shape_of(const Layout& layout, const Array& array);

}  // namespace ob::sial
