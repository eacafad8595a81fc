#include "sial_prefetch.hpp"

#include <charconv>
#include <filesystem>

#include "sial/job/job.hpp"

namespace ob::apps {
namespace {

// Returns the depth that a word names, nothing for auto.
Result<std::optional<unsigned>> depth_of(const std::string& word) {
  if (word.empty() || word == "auto") return std::optional<unsigned>{};
  if (word == "off") return std::optional<unsigned>{0};
  unsigned depth = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, depth);
  if (error == std::errc{} && stop == end && depth <= sial::kDeepestPrefetch) {
    return std::optional<unsigned>{depth};
  }
  return Status(Code::invalid_argument,
                "--prefetch " + word + " is no depth; use auto, off or a number of blocks");
}

}  // namespace

Result<std::vector<std::optional<unsigned>>> prefetch_depths(const sial::Program& program,
                                                             const std::string& prefetch,
                                                             const PrefetchLines& lines) {
  OB_ASSIGN_OR_RETURN(const std::optional<unsigned> all, depth_of(prefetch));
  std::vector<std::optional<unsigned>> depths(program.accesses.size(), all);
  for (std::size_t access = 0; access < depths.size(); ++access) {
    const sial::Line& line = program.lines[program.accesses[access].instruction];
    const std::filesystem::path source = program.sources[line.source].name;
    for (const std::string& file : {source.string(), source.filename().string()}) {
      const auto found = lines.find(file + ":" + std::to_string(line.line));
      if (found != lines.end()) depths[access] = static_cast<unsigned>(found->second);
    }
  }
  return depths;
}

}  // namespace ob::apps
