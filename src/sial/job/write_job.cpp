#include "sial/job/write_job.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>

#include "sial/job/npy.hpp"

namespace ob::sial {
namespace {

constexpr std::size_t kMostInline = 64;  // elements: a few lines

// A text in quotes. TOML takes other characters than these as they are.
std::string quote(const std::string& text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string quoted = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      quoted += '\\';
      quoted += letter;
    } else if (code < 0x20 || code == 0x7f) {
      quoted += "\\u00";
      quoted += kHex[code >> 4];
      quoted += kHex[code & 15];
    } else {
      quoted += letter;
    }
  }
  return quoted + '"';
}

// A key: bare where TOML allows it. Dots are part of the name, and so need quotes.
std::string show_key(const std::string& key) {
  const bool bare = !key.empty() && key.find_first_not_of(
                                        "abcdefghijklmnopqrstuvwxyz"
                                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789_-") == std::string::npos;
  return bare ? key : quote(key);
}

std::string show_value(std::int64_t value) { return std::to_string(value); }
std::string show_value(bool value) { return value ? "true" : "false"; }
std::string show_value(const std::string& value) { return quote(value); }

// The shortest text that reads back as the same number, with the point that TOML wants.
std::string show_value(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), end);
  const bool real = text.find_first_of(".e") != std::string::npos;
  return real ? text : text + ".0";
}

std::string show_value(const ConfigValue& value) {
  return std::visit([](const auto& held) { return show_value(held); }, value);
}

template <class T>
std::string show_value(const std::vector<T>& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i)
    text += (i > 0 ? ", " : "") + show_value(values[i]);
  return text + "]";
}

template <class Map>
void add_table(std::string& text, const std::string& header, const Map& map) {
  if (map.empty()) return;
  text += "\n[" + header + "]\n";
  for (const auto& [name, value] : map) text += show_key(name) + " = " + show_value(value) + "\n";
}

template <class T>
void add_arrays(std::string& text, const char* header, const Job& job,
                const std::map<std::string, Elements<T>>& arrays) {
  if (!arrays.empty()) text += std::string("\n[") + header + "]\n";
  for (const auto& [name, array] : arrays) {
    const std::string file = array_file(job, name, array);
    text +=
        show_key(name) + " = { " +
        (file.empty() ? "shape = " + show_value(array.shape) + ", data = " + show_value(array.data)
                      : "file = " + quote(file)) +
        " }\n";
  }
}

template <class T>
void add_option(std::string& text, const char* key, const std::optional<T>& value) {
  if (value) text += std::string(key) + " = " + show_value(*value) + "\n";
}

void add_run(std::string& text, const RunDefaults& run) {
  if (run == RunDefaults()) return;
  text += "\n[run]\n";
  add_option(text, "workers", run.workers);
  add_option(text, "servers", run.servers);
  add_option(text, "worker_memory", run.worker_memory);
  add_option(text, "server_memory", run.server_memory);
  add_option(text, "spill", run.spill);
  add_option(text, "state", run.state);
  if (run.prefetch)
    text += "prefetch = " + (*run.prefetch == "auto" ? "\"auto\"" : *run.prefetch) + "\n";
  add_option(text, "schedule", run.schedule);
  add_option(text, "placement", run.placement);
  add_option(text, "place", run.place);
  add_option(text, "races", run.races);
  add_option(text, "mpi", run.mpi);
  add_option(text, "deterministic", run.deterministic);
  add_option(text, "drop_cache", run.drop_cache);
  add_option(text, "check", run.check);
  add_option(text, "strict", run.strict);
  add_option(text, "checkpoint", run.checkpoint_s);
  add_option(text, "liveness", run.liveness_s);
  add_table(text, "run.prefetch_lines", run.prefetch_lines);
}

template <class T>
Status write_array_files(const std::filesystem::path& folder, const Job& job,
                         const std::map<std::string, Elements<T>>& arrays) {
  for (const auto& [name, array] : arrays) {
    const std::string file = array_file(job, name, array);
    if (!file.empty()) OB_RETURN_IF_ERROR(write_npy(folder / file, array));
  }
  return {};
}

}  // namespace

template <class T>
std::string array_file(const Job& job, const std::string& name, const Elements<T>& array) {
  // An array without elements, or of rank 0, has no inline form that keeps its shape.
  if (array.data.size() <= kMostInline && !array.shape.empty()) return {};
  std::string file = job.name + "-" + name;
  for (char& letter : file)
    if (letter == '/' || letter == '\0') letter = '_';
  return file + ".npy";
}
template std::string array_file(const Job&, const std::string&, const DoubleArray&);
template std::string array_file(const Job&, const std::string&, const IntArray&);

std::string job_text(const Job& job) {
  std::string text = "sial_job = 1\nname = " + quote(job.name) + "\n";
  text += "programs = " + show_value(job.programs) + "\n";
  if (!job.plugins.empty()) text += "plugins = " + show_value(job.plugins) + "\n";
  add_table(text, "ints", job.ints);
  add_table(text, "scalars", job.scalars);
  add_table(text, "segments", job.segments);
  add_table(text, "subsegments", job.subsegments);
  add_arrays(text, "arrays", job, job.arrays);
  add_arrays(text, "int_arrays", job, job.int_arrays);
  for (const auto& [program, entries] : job.config)
    add_table(text, "config." + show_key(program), entries);
  add_run(text, job.run);
  return text;
}

Status write_job(const std::filesystem::path& file, const Job& job) {
  OB_RETURN_IF_ERROR(write_array_files(file.parent_path(), job, job.arrays));
  OB_RETURN_IF_ERROR(write_array_files(file.parent_path(), job, job.int_arrays));
  std::ofstream out(file, std::ios::trunc | std::ios::binary);
  out << job_text(job);
  out.close();
  if (out.good()) return {};
  return Status(Code::unavailable, file.string() + ": cannot be written (" + std::strerror(errno) +
                                       ") check its folder and the space on the disk");
}

}  // namespace ob::sial
