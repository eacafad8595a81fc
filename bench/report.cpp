#include "bench/report.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "bench/command_line.hpp"
#include "bench/or_exit.hpp"

namespace ob::bench {
namespace {

std::string json_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string json_row(const Row& row) {
  char numbers[400];
  std::snprintf(
      numbers, sizeof numbers,
      "\"bytes\": %zu, \"value\": %.6g, \"unit\": %s, \"ceiling\": %.6g, \"ceiling_name\": %s, "
      "\"ratio\": %.4f, \"min\": %.6g, \"max\": %.6g, \"runs\": %d}",
      row.bytes, row.samples.median(), json_text(row.unit).c_str(), row.ceiling.median(),
      json_text(row.ceiling_name).c_str(), row.ratio(), row.samples.min(), row.samples.max(),
      row.samples.runs());
  return "{\"bench\": " + json_text(row.bench) + ", \"case\": " + json_text(row.name) + ", " +
         numbers;
}

}  // namespace

double Row::ratio() const {
  const double value = samples.median();
  const double limit = ceiling.median();
  if (value <= 0 || limit <= 0) return 0;
  return better == Better::larger ? value / limit : limit / value;
}

void Report::add(Row row) {
  if (rows_.empty()) {
    std::printf("%-22s %9s %9s %-5s %21s   %9s %6s  %s\n", "case", "size", "median", "unit",
                "min .. max", "ceiling", "ratio", "ceiling's name");
  }
  char range[48];
  std::snprintf(range, sizeof range, "%.3f .. %.3f", row.samples.min(), row.samples.max());
  std::printf("%-22s %9s %9.3f %-5s %21s   ", row.name.c_str(), size_text(row.bytes).c_str(),
              row.samples.median(), row.unit.c_str(), range);
  if (!row.ceiling_name.empty()) {
    std::printf("%9.3f %6.2f  %s", row.ceiling.median(), row.ratio(), row.ceiling_name.c_str());
  }
  std::printf("\n");
  std::fflush(stdout);
  rows_.push_back(std::move(row));
}

void Report::write(const Options& options) const {
  if (options.json_path.empty()) return;
  std::ofstream file(options.json_path);
  file << "[\n";
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    file << "  " << json_row(rows_[i]) << (i + 1 < rows_.size() ? ",\n" : "\n");
  }
  file << "]\n" << std::flush;
  if (file) return;
  or_exit(Status(Code::unavailable, "cannot write " + options.json_path + " (" +
                                        std::strerror(errno) + ") choose another file"));
}

Options Options::parse_or_exit(int argc, char** argv, const char* summary,
                               const std::vector<std::string>& parts) {
  Options options;
  CommandLine line(summary);
  line.add("--json", &options.json_path, "file to which the rows are written");
  line.add("--check", &options.check, "tiny sizes, once: does it run?");
  line.add("--runs", &options.runs, "of each case", {.least = 1});
  if (!parts.empty()) line.add("--only", &options.only, "one part of it", {.one_of = parts});
  line.parse_or_exit(argc, argv);
  if (options.check) options.runs = 1;
  return options;
}

std::string size_text(std::size_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  int unit = 0;
  for (; unit < 3 && bytes >= 1024 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return std::to_string(bytes) + " " + kUnits[unit];
}

}  // namespace ob::bench
