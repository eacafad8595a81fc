#include "sial/persist/run_progress.hpp"

#include <algorithm>

namespace ob::sial {
namespace {

// Returns what two maps do not have in common.
template <class Map>
std::string changed_keys(const char* what, const Map& before, const Map& now) {
  std::string text;
  const auto add = [&](const std::string& key) {
    text += (text.empty() ? "" : ", ") + std::string(what) + " " + key;
  };
  for (const auto& [key, value] : before) {
    const auto found = now.find(key);
    if (found == now.end() || found->second != value) add(key);
  }
  for (const auto& [key, value] : now) {
    if (!before.contains(key)) add(key);
  }
  return text;
}

}  // namespace

std::string differences(const JobIdentity& before, const JobIdentity& now) {
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  };
  for (std::size_t i = 0; i < std::max(before.codes.size(), now.codes.size()); ++i) {
    const bool both = i < before.codes.size() && i < now.codes.size();
    if (both && before.codes[i] == now.codes[i]) continue;
    add("program " + (i < now.codes.size() ? now : before).codes[i].program);
  }
  add(changed_keys("segment table", before.segments, now.segments));
  add(changed_keys("number of subsegments", before.subsegments, now.subsegments));
  add(changed_keys("int", before.ints, now.ints));
  return text;
}

std::vector<std::string> RunProgress::files() const {
  std::vector<std::string> files;
  for (const KeptStatic& kept : statics) files.push_back(kept.file);
  if (!checkpoint) return files;
  files.insert(files.end(), checkpoint->states.begin(), checkpoint->states.end());
  files.insert(files.end(), checkpoint->blocks.begin(), checkpoint->blocks.end());
  for (const auto& [array, names] : checkpoint->arrays) {
    files.insert(files.end(), names.begin(), names.end());
  }
  return files;
}

}  // namespace ob::sial
