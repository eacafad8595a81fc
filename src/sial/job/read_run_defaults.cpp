// The table [run] of a job file.

#include <cmath>
#include <functional>

#include "sial/job/job_file.hpp"
#include "sial/job/size_text.hpp"

namespace ob::sial {
namespace {

constexpr std::int64_t kMostRanks = 1 << 24;

// A key: reads its value, and says what it takes if that is wrong.
struct RunKey {
  const char* name;
  const char* takes;    // "a number of ranks"
  const char* example;  // "2"
  std::function<bool(const toml::node&, RunDefaults&)> read;
};

auto count_key(std::optional<std::int64_t> RunDefaults::*member, std::int64_t least) {
  return [=](const toml::node& node, RunDefaults& run) {
    run.*member = node.value_exact<std::int64_t>();
    return run.*member && *(run.*member) >= least && *(run.*member) <= kMostRanks;
  };
}

auto size_key(std::optional<std::int64_t> RunDefaults::*member) {
  return [=](const toml::node& node, RunDefaults& run) {
    if (const auto text = node.value_exact<std::string>()) {
      run.*member = parse_size_text(*text);
    } else {
      run.*member = node.value_exact<std::int64_t>();
    }
    return run.*member && *(run.*member) > 0;
  };
}

auto text_key(std::optional<std::string> RunDefaults::*member) {
  return [=](const toml::node& node, RunDefaults& run) {
    run.*member = node.value_exact<std::string>();
    return run.*member && !(run.*member)->empty();
  };
}

auto word_key(std::optional<std::string> RunDefaults::*member,
              std::vector<std::string_view> words) {
  return [=](const toml::node& node, RunDefaults& run) {
    run.*member = node.value_exact<std::string>();
    return run.*member && std::find(words.begin(), words.end(), *(run.*member)) != words.end();
  };
}

auto flag_key(std::optional<bool> RunDefaults::*member) {
  return [=](const toml::node& node, RunDefaults& run) {
    run.*member = node.value_exact<bool>();
    return (run.*member).has_value();
  };
}

auto seconds_key(std::optional<double> RunDefaults::*member, bool zero) {
  return [=](const toml::node& node, RunDefaults& run) {
    if (node.is_floating_point() || node.is_integer()) run.*member = node.value<double>();
    return run.*member && std::isfinite(*(run.*member)) &&
           (*(run.*member) > 0 || (zero && *(run.*member) == 0));
  };
}

// The number of blocks that a get fetches ahead.
std::optional<std::int64_t> depth_of(const toml::node& node) {
  const auto depth = node.value_exact<std::int64_t>();
  return depth && *depth >= 0 && *depth <= kDeepestPrefetch ? depth : std::nullopt;
}

bool read_prefetch(const toml::node& node, RunDefaults& run) {
  if (const auto depth = depth_of(node)) {
    run.prefetch = std::to_string(*depth);
    return true;
  }
  run.prefetch = node.value_exact<std::string>();
  return run.prefetch == "auto";
}

bool read_prefetch_lines(const toml::node& node, RunDefaults& run) {
  if (!node.is_table()) return false;
  for (const auto& [key, value] : *node.as_table()) {
    const std::string_view line = key.str();
    const std::size_t colon = line.rfind(':');
    const auto depth = depth_of(value);
    if (!depth || colon == std::string_view::npos || colon == 0 || colon + 1 == line.size() ||
        line.find_first_not_of("0123456789", colon + 1) != std::string_view::npos)
      return false;
    run.prefetch_lines.emplace(line, *depth);
  }
  return true;
}

std::vector<RunKey> run_keys() {
  using Run = RunDefaults;
  return {
      {"workers", "a number of ranks from 1", "2", count_key(&Run::workers, 1)},
      {"servers", "a number of ranks from 0", "1", count_key(&Run::servers, 0)},
      {"worker_memory", "a size", "\"512M\"", size_key(&Run::worker_memory)},
      {"server_memory", "a size", "\"4GiB\"", size_key(&Run::server_memory)},
      {"spill", "a folder", "\"/tmp/spill\"", text_key(&Run::spill)},
      {"state", "a folder", "\"scf.state\"", text_key(&Run::state)},
      {"prefetch", "auto or a number from 0", "\"auto\"", read_prefetch},
      {"prefetch_lines", "a table of lines and numbers", "{ \"scf.sial:12\" = 4 }",
       read_prefetch_lines},
      {"schedule", "static, balanced, guided or measured", "\"balanced\"",
       word_key(&Run::schedule, {"static", "balanced", "guided", "measured"})},
      {"placement", "cyclic, skewed, hash or bytes", "\"cyclic\"",
       word_key(&Run::placement, {"cyclic", "skewed", "hash", "bytes"})},
      {"place", "auto, host, device or hints", "\"auto\"",
       word_key(&Run::place, {"auto", "host", "device", "hints"})},
      {"races", "worker or iteration", "\"worker\"",
       word_key(&Run::races, {"worker", "iteration"})},
      {"mpi", "openmpi or mpich", "\"openmpi\"", word_key(&Run::mpi, {"openmpi", "mpich"})},
      {"deterministic", "true or false", "true", flag_key(&Run::deterministic)},
      {"drop_cache", "true or false", "true", flag_key(&Run::drop_cache)},
      {"check", "true or false", "true", flag_key(&Run::check)},
      {"strict", "true or false", "true", flag_key(&Run::strict)},
      {"checkpoint", "seconds from 0", "600", seconds_key(&Run::checkpoint_s, true)},
      {"liveness", "seconds from 0", "30", seconds_key(&Run::liveness_s, true)},
  };
}

}  // namespace

Status read_run_defaults(const JobFile& file, const toml::table& root, RunDefaults& run) {
  OB_ASSIGN_OR_RETURN(const toml::table* table, file.table_at(root, "run"));
  if (table == nullptr) return {};
  const std::vector<RunKey> keys = run_keys();
  std::vector<std::string> names;
  for (const RunKey& key : keys) names.emplace_back(key.name);
  OB_RETURN_IF_ERROR(file.check_keys(*table, names, "[run]"));
  for (const RunKey& key : keys) {
    const toml::node* node = table->get(key.name);
    if (node == nullptr || key.read(*node, run)) continue;
    return file.refuse(*node, std::string("'") + key.name + "' has a wrong value",
                       std::string("it takes ") + key.takes,
                       std::string("write ") + key.name + " = " + key.example);
  }
  return {};
}

}  // namespace ob::sial
