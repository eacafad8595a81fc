#pragma once
// The output of benchmark programs: a figure, the ceiling that was measured next to it, and the
// fraction of the ceiling that was reached.

#include <string>
#include <vector>

#include "bench/samples.hpp"

namespace ob::bench {

enum class Better { larger, smaller };

struct Row {
  std::string bench;  ///< program, "stream"
  std::string name;   ///< case, "tcp stream to peer"
  std::size_t bytes = 0;
  std::string unit;  ///< "GB/s", "us"
  Better better = Better::larger;
  Samples samples;
  std::string ceiling_name;  ///< empty: none
  Samples ceiling;

  /// The fraction of the ceiling that was reached, by medians. Larger is better for all units. 0
  /// without a ceiling.
  double ratio() const;
};

/// Options that every benchmark program takes.
struct Options {
  std::string json_path;  ///< --json FILE; empty: none
  bool check = false;     ///< --check: runs once with tiny sizes, to test the program
  int runs = 15;          ///< --runs N
  std::string only;       ///< --only PART of a program with parts; empty: all

  /// Reads the options. Ends the program after --help, or with a message after an error.
  /// @param parts the values of --only; empty: the program has no parts
  static Options parse_or_exit(int argc, char** argv, const char* summary,
                               const std::vector<std::string>& parts = {});
  bool wants(const std::string& part) const { return only.empty() || only == part; }
};

/// Prints the heading and each row at once, and collects the rows for a file.
class Report {
 public:
  void add(Row row);
  /// Writes one JSON array of all rows, if the options name a file. Ends the program on an error.
  void write(const Options& options) const;

 private:
  std::vector<Row> rows_;
};

/// "64 B", "4 KiB", "256 MiB"
std::string size_text(std::size_t bytes);

}  // namespace ob::bench
