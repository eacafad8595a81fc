#include "sial_report.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace ob::apps {

using Json = nlohmann::ordered_json;

struct SialReport::Text {
  Json programs = Json::array();
};

namespace {

double seconds(std::int64_t ns) { return 1e-9 * static_cast<double>(ns); }

// Keeps a member that is there already, as several gets may stand on one line.
void add_to(Json& json, const char* key, double value) { json[key] = json.value(key, 0.0) + value; }

void add_get(Json& line, const sial::GetCounts& counts, unsigned workers) {
  if (!line.contains("get")) line["get"] = Json::object();
  Json& get = line["get"];
  const std::pair<const char*, std::uint64_t> all[] = {
      {"accesses", counts.accesses},
      {"waits", counts.waits},
      {"first_uses", counts.first_uses},
      {"first_waits", counts.first_waits},
      {"requests", counts.requests},
      {"prefetched", counts.ahead},
      {"late", counts.late},
      {"unused", counts.unused},
      {"evicted", counts.evicted},
      {"bytes", counts.bytes},
  };
  for (const auto& [key, count] : all) get[key] = get.value(key, std::uint64_t{0}) + count;
  add_to(get, "demand_wait_s", seconds(counts.demand_ns));
  add_to(get, "late_wait_s", seconds(counts.late_ns));
  add_to(get, "first_wait_s", seconds(counts.first_ns));
  get["depth"] = static_cast<double>(counts.depth) / workers;
}

}  // namespace

SialReport::SialReport() : text_(std::make_unique<Text>()) {}
SialReport::~SialReport() = default;

void SialReport::add(const sial::WorkerSetting& setting, const sial::Worker& worker,
                     const std::vector<sial::ServerPeaks>& server_peaks) {
  const sial::Program& program = *setting.program;
  const sial::WorkerCounts& counts = worker.counts();
  std::map<std::pair<std::uint32_t, std::uint32_t>, Json> lines;  // by source and line
  const auto line_of = [&](std::size_t instruction) -> Json& {
    const sial::Line& line = program.lines[instruction];
    Json& json = lines[{line.source, line.line}];
    json["file"] = program.sources[line.source].name;
    json["line"] = line.line;
    return json;
  };
  double barrier_s = 0;
  for (std::size_t at = 0; at < counts.instructions.size(); ++at) {
    const sial::InstructionCounts& one = counts.instructions[at];
    if (one.count == 0) continue;
    Json& json = line_of(at);
    json["executions"] = std::max(json.value("executions", std::uint64_t{0}), one.count);
    add_to(json, "seconds", seconds(one.ns));
    add_to(json, "wait_s", seconds(one.wait_ns));
    if (one.on_device != 0)
      json["on_device"] = json.value("on_device", std::uint64_t{0}) + one.on_device;
    const sial::Opcode op = program.code[at].op;
    if (op == sial::Opcode::barrier || op == sial::Opcode::section_end) {
      barrier_s += seconds(one.wait_ns);
    }
  }
  for (std::size_t access = 0; access < counts.gets.size(); ++access) {
    add_get(line_of(program.accesses[access].instruction), counts.gets[access], setting.workers);
  }
  Json json{{"program", program.name},
            {"workers", setting.workers},
            {"servers", setting.servers},
            {"seconds", seconds(counts.run_ns) / setting.workers},
            {"barrier_wait_s", barrier_s}};
  if (setting.device != nullptr) {
    json["device"] = {{"to_device_bytes", counts.device.to_device_bytes},
                      {"to_host_bytes", counts.device.to_host_bytes},
                      {"evicted", counts.device.evicted},
                      {"permuted", counts.device.permuted}};
  }
  json["lines"] = Json::array();
  for (auto& [place, line] : lines) json["lines"].push_back(std::move(line));
  // In one process the times count instructions.
  for (const auto& [loop, pardo] : worker.pardo_times().all()) {
    if (pardo.slowest == 0 || !worker.timed()) continue;
    const sial::Line& line = program.lines[program.loops[loop].begin];
    json["pardos"].push_back({{"file", program.sources[line.source].name},
                              {"line", line.line},
                              {"mean_s", 1e-9 * pardo.mean},
                              {"slowest_s", 1e-9 * pardo.slowest}});
  }
  Json& memory = json["memory"];
  memory["servers"] = Json::array();
  for (const sial::ServerPeaks& one : server_peaks) memory["servers"].push_back(one.stored);
  memory["workers"] = Json::array();
  for (const sial::MemoryPeaks& one : counts.memory) {
    memory["workers"].push_back({{"blocks", one.block_bytes}, {"fetched", one.fetched_bytes}});
  }
  Json& puts = json["puts"];  // most bytes of blocks on their way, by worker and by server
  puts = {{"waits", counts.credit_waits}, {"unanswered", Json::array()}, {"queued", Json::array()}};
  for (const sial::MemoryPeaks& one : counts.memory) puts["unanswered"].push_back(one.put_bytes);
  for (const sial::ServerPeaks& one : server_peaks) puts["queued"].push_back(one.queued);
  text_->programs.push_back(std::move(json));
}

Status SialReport::write(const std::string& path) const {
  std::ofstream file(path);
  file << text_->programs.dump(1) << "\n";
  file.flush();
  if (file) return {};
  return {Code::unavailable, "cannot write " + path + "; check its folder and free space"};
}

}  // namespace ob::apps
