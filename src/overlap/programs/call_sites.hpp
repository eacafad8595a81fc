#pragma once
// Hidden and exposed time of communication, by the place in the program.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace ob::overlap {

/// A place in the program, by its object and the offset in it.
struct Place {
  std::string object;  ///< empty: not known
  std::uintptr_t offset = 0;
  std::string symbol;  ///< empty: not known
};
/// @param place the return address of a call
Place describe(std::uintptr_t place);

/// The calls of one completion function from one place in the program.
struct CallSite {
  const char* function = "";
  std::int64_t calls = 0;
  std::int64_t operations = 0;
  std::int64_t bytes = 0;
  std::int64_t hidden_ns = 0;   ///< communication went on while the program was outside of MPI
  std::int64_t exposed_ns = 0;  ///< the program was inside of the call
};

/// Threads: any.
class CallSites {
 public:
  /// Adds one call. It is left out if there is no memory.
  void add(std::uintptr_t place, const CallSite& call) noexcept;
  /// Returns the table as the elements of a JSON array, with the object, offset and symbol of each
  /// place.
  std::string json();

 private:
  std::mutex lock_;
  std::map<std::uintptr_t, CallSite> sites_;
};

}  // namespace ob::overlap
