#pragma once
// Memory for permuted copies of operands, kept from statement to statement.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/aligned_memory.hpp"
#include "base/status.hpp"

namespace ob::sial {

/// Owns one area per purpose. An area grows to the largest request and keeps its address until
/// then.   Threads: owner only
class Scratch {
 public:
  enum class Use : std::size_t { first, second, destination, alias_first, alias_second };

  /// Returns at least `elements` doubles, aligned to 64 bytes, with any content.
  /// Errors: out_of_memory
  Result<double*> take(Use use, std::int64_t elements) {
    Area& area = areas_[static_cast<std::size_t>(use)];
    if (area.elements < elements) {
      area = Area();  // the old content is not needed, and both may not fit
      OB_ASSIGN_OR_RETURN(area.memory,
                          aligned_memory(static_cast<std::uint64_t>(elements) * sizeof(double)));
      area.elements = elements;
    }
    return reinterpret_cast<double*>(area.memory.get());
  }

  std::int64_t bytes() const noexcept {
    std::int64_t sum = 0;
    for (const Area& area : areas_) sum += area.elements * std::int64_t{sizeof(double)};
    return sum;
  }

 private:
  struct Area {
    std::shared_ptr<std::byte> memory;
    std::int64_t elements = 0;
  };
  std::array<Area, 5> areas_;
};

}  // namespace ob::sial
