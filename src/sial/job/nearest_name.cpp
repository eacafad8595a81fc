#include "sial/job/nearest_name.hpp"

#include <algorithm>

namespace ob::sial {
namespace {

constexpr std::size_t kLongestName = 200;  // longer ones are no slips of the pen

// Levenshtein's distance: insertions, deletions and replacements.
std::size_t edits(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[to.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& names) {
  if (name.size() > kLongestName) return {};
  std::string best;
  std::size_t least = name.size() / 3 + 1;
  for (const std::string& candidate : names) {
    if (candidate.size() > kLongestName) continue;
    const std::size_t distance = edits(name, candidate);
    if (distance > least || (distance == least && !best.empty())) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

std::string fold_case(std::string_view name) {
  std::string folded(name);
  for (char& letter : folded)
    if ('A' <= letter && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return folded;
}

}  // namespace ob::sial
