#include "state_dump.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

namespace ob::apps {

using Json = nlohmann::ordered_json;

struct StateDump::Text {
  Json programs = Json::array();
};

namespace {

Json block_json(const sial::Block& block) {
  Json shape = Json::array();
  for (unsigned d = 0; d < block.shape().rank; ++d) shape.push_back(block.shape().extents[d]);
  Json data = Json::array();
  for (std::int64_t i = 0; i < block.elements(); ++i) data.push_back(block.data()[i]);
  return {{"shape", shape}, {"data", data}};
}

}  // namespace

StateDump::StateDump() : text_(std::make_unique<Text>()) {}
StateDump::~StateDump() = default;

void StateDump::add(const sial::Program& program, unsigned worker, sial::Worker& state) {
  Json json{{"program", program.name}, {"worker", worker}};
  for (std::size_t i = 0; i < program.ints.size(); ++i) {
    json["ints"][program.ints[i].name] = state.ints()[i];
  }
  for (std::size_t i = 0; i < program.scalars.size(); ++i) {
    json["scalars"][program.scalars[i].name] = state.scalars()[i];
  }
  for (std::uint32_t array = 0; array < program.arrays.size(); ++array) {
    const sial::BlockPtr& whole = state.store().whole_static(array);
    if (whole != nullptr) json["statics"][program.arrays[array].name] = block_json(*whole);
  }
  json["blocks"] = Json::array();
  state.store().for_each([&](std::uint32_t array, std::uint64_t number, const sial::Block& block) {
    Json entry = block_json(block);
    entry["array"] = program.arrays[array].name;
    entry["number"] = number;
    json["blocks"].push_back(std::move(entry));
  });
  text_->programs.push_back(std::move(json));
}

Status StateDump::write(const std::string& path) const {
  std::ofstream file(path);
  file << text_->programs.dump() << "\n";
  file.flush();
  if (file) return {};
  return {Code::unavailable, "cannot write " + path + "; check its folder and free space"};
}

}  // namespace ob::apps
