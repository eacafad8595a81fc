#pragma once
// A job: the programs, sizes and data of a run, as its file names them.   docs/sial/jobs.md

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ob::sial {

/// A dense array. Elements are column-major: the first index is the fastest.
template <class T>
struct Elements {
  std::vector<std::int64_t> shape;  ///< one extent per dimension
  std::vector<T> data;              ///< as many as the product of the shape
  friend bool operator==(const Elements&, const Elements&) = default;
};
using DoubleArray = Elements<double>;
using IntArray = Elements<std::int64_t>;

/// A value that a plug-in asks for by its key.
using ConfigValue = std::variant<bool, std::int64_t, double, std::string>;

/// The most blocks that a get may be told to fetch ahead.
constexpr std::int64_t kDeepestPrefetch = 1 << 20;

/// The defaults of `outboard sial run`. A member without a value was not named. Sizes in bytes.
struct RunDefaults {
  std::optional<std::int64_t> workers, servers;
  std::optional<std::int64_t> worker_memory, server_memory;
  std::optional<std::string> spill;      ///< folder
  std::optional<std::string> state;      ///< folder
  std::optional<std::string> prefetch;   ///< "auto" or a number
  std::optional<std::string> schedule;   ///< static, balanced, guided, measured
  std::optional<std::string> placement;  ///< cyclic, skewed, hash, bytes
  std::optional<std::string> place;      ///< auto, host, device, hints
  std::optional<std::string> races;      ///< worker, iteration
  std::optional<std::string> mpi;        ///< openmpi, mpich
  std::optional<bool> deterministic, drop_cache, check, strict;
  std::optional<double> checkpoint_s, liveness_s;
  /// "FILE:LINE" of a get to the number of blocks to fetch ahead there.
  std::map<std::string, std::int64_t> prefetch_lines;
  friend bool operator==(const RunDefaults&, const RunDefaults&) = default;
};

/// Names are folded to lower case, as in programs. Dots join the parts of qualified names.
struct Job {
  std::string name;
  std::filesystem::path folder;       ///< of the file: relative paths of the job count from here
  std::vector<std::string> programs;  ///< as written
  std::vector<std::string> plugins;   ///< as written
  std::map<std::string, std::int64_t> ints;
  std::map<std::string, double> scalars;
  std::map<std::string, std::vector<std::int64_t>> segments;  ///< extents by table
  std::map<std::string, std::int64_t> subsegments;            ///< number of them by table
  std::map<std::string, DoubleArray> arrays;
  std::map<std::string, IntArray> int_arrays;
  /// By program, then by key. Keys are not folded.
  std::map<std::string, std::map<std::string, ConfigValue>> config;
  RunDefaults run;
};

}  // namespace ob::sial
