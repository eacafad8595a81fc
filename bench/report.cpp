#include "bench/report.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

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

Status Report::write_json(const std::string& path) const {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    return {Code::unavailable,
            "cannot write " + path + " (" + std::strerror(errno) + ") choose another file"};
  }
  std::fprintf(file, "[\n");
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    std::fprintf(file, "  %s%s\n", json_row(rows_[i]).c_str(), i + 1 < rows_.size() ? "," : "");
  }
  std::fprintf(file, "]\n");
  const bool failed = std::ferror(file) != 0;
  if (std::fclose(file) != 0 || failed)
    return {Code::unavailable, "cannot write " + path + " (is the disk full?)"};
  return {};
}

Result<Options> Options::parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--check") {
      options.check = true;
    } else if (word == "--json" && has_value) {
      options.json_path = argv[++i];
    } else if (word == "--runs" && has_value && std::atoi(argv[i + 1]) > 0) {
      options.runs = std::atoi(argv[++i]);
    } else {
      return Status(
          Code::invalid_argument,
          "cannot use \"" + word +
              "\" (unknown, or its value is missing) give [--runs N] [--json FILE] [--check]");
    }
  }
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
