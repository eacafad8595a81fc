#pragma once
// The blocks of a worker, as super-instructions can list them.

#include <cstdint>
#include <string>
#include <vector>

namespace ob::sial {

/// One block, region or whole static that a worker holds.
struct InventoryBlock {
  std::string array;         ///< its name
  std::string kind;          ///< static, temp, local, region, or fetched for one of the servers
  std::string segments;      ///< as in messages: "[1,2]"; empty for a static
  bool numbered = false;     ///< statics and regions have no number
  std::uint64_t number = 0;  ///< of the block in its array
  std::uint64_t bytes = 0;
};

/// Threads: that of the worker
class BlockInventory {
 public:
  virtual ~BlockInventory() = default;
  /// Returns all that the worker holds: the arrays in the order of the program, blocks by number.
  virtual std::vector<InventoryBlock> held() const = 0;
  /// Counts the blocks of all arrays whose number does not lead back to their segments, among the
  /// first 2^20 blocks of each array.
  virtual std::uint64_t misnumbered() const = 0;
};

}  // namespace ob::sial
