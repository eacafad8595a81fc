#pragma once
// Lists in settings: "a, b,c".

#include <string>
#include <string_view>
#include <vector>

namespace ob {

/// Returns the items of a list that is separated by commas, without the blanks around them and
/// without empty ones.
inline std::vector<std::string> comma_list(std::string_view list) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::string> items;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view part = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    const std::size_t begin = part.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) continue;
    items.emplace_back(part.substr(begin, part.find_last_not_of(kBlanks) - begin + 1));
  }
  return items;
}

}  // namespace ob
