#pragma once
// A run with `--trace` notes statements, waits and transfers, with their times.
// Source: docs/sial/runtime.md, "Trace"

#include <cstdint>
#include <string>

#include "sial/exchange/message.hpp"

namespace ob::sial {

/// One thing that took time on a rank. Times are those of the steady clock [ns].
struct TraceSlice {
  enum class Kind : std::uint8_t {
    statement,  ///< an instruction of a worker
    wait,       ///< a worker that waits for messages
    message,    ///< a server that handles a message
    transfer,   ///< from a request to its answer; transfers of one rank overlap
  };
  Kind kind = Kind::statement;
  Rank rank = 0;
  std::string name;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t request = 0;  ///< of a transfer: its number on this rank
  std::uint64_t bytes = 0;    ///< of a transfer or a message; 0: it has no block
  bool ahead = false;         ///< the transfer was begun by the look-ahead
  bool on_device = false;     ///< the statement ran on the device
};

/// Threads: any
class RunTrace {
 public:
  virtual ~RunTrace() = default;
  /// Notes a slice that has ended. Slices of one rank may come in any order.
  virtual void add(const TraceSlice& slice) = 0;
};

}  // namespace ob::sial
