#pragma once
// The look-ahead: it foresees the blocks that gets will need.
// Source: specification of the look-ahead; the thesis on SIA, 4.2.2

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sial/code/program.hpp"
#include "sial/worker/active_loop.hpp"
#include "sial/worker/counts.hpp"
#include "sial/worker/geometry.hpp"

namespace ob::sial {

/// Evaluates parts of the program for iterations to come. It reads and writes the index values that
/// LookAhead::after_get() is called with.
class Future {
 public:
  virtual ~Future() = default;
  /// Appends an iteration to `loop.coming`. Returns false if there is none, or after an error.
  virtual bool find_next(ActiveLoop& loop) = 0;
  /// Sets the indices of a loop to an iteration of it.
  virtual void set_indices(const ActiveLoop& loop, std::uint64_t raw) = 0;
  /// Begins a loop at its start. Returns nothing after an error.
  virtual std::optional<ActiveLoop> enter(std::uint32_t loop) = 0;
  /// Says whether the instructions from `from` on lead to `to`, which lies in the same body.
  virtual bool reaches(std::uint32_t from, std::uint32_t to) = 0;
  /// Asks for the block of a get, unless it is there. Returns its number; nothing if it cannot be
  /// fetched now.
  virtual std::optional<std::uint64_t> fetch_ahead(std::uint32_t access) = 0;
};

/// The look-ahead of a worker: a cursor per get goes through the iterations of the loops around it,
/// a number of blocks ahead of the interpreter. It never passes a barrier, because the compiler
/// lists only the loops without one.
/// Threads: owner only
class LookAhead {
 public:
  /// @param depths per access: blocks to be ahead; nothing: as measured. Empty: all as measured
  LookAhead(const Program& program, std::vector<std::optional<unsigned>> depths, Future& future,
            std::vector<GetCounts>& counts);

  /// Follows a get that the interpreter has executed.
  /// @param number of the block that it names
  /// @param loops all loops around it, from outside
  /// @param values the index values; they are changed, and left as they were
  void after_get(std::uint32_t access, std::uint64_t number, std::vector<ActiveLoop>& loops,
                 IndexValues& values, std::int64_t now_ns);
  /// Notes the answer to a request.
  /// @param others whether other requests were under way when the answer before arrived
  void arrived(std::int64_t sent_ns, std::int64_t arrived_ns, bool others) noexcept;
  /// Notes that a statement waits for a block that was fetched ahead.
  void late(std::uint32_t access) noexcept;

 private:
  // The place of a cursor in one loop: in a loop that the interpreter executes, or in one that
  // begins anew because a loop around it has gone on.
  struct Level {
    std::uint64_t execution = 0;
    std::uint64_t ordinal = 0;      // iterations begun, as seen by the cursor
    std::optional<ActiveLoop> own;  // of a loop that the interpreter has not begun
  };
  struct Cursor {
    std::vector<Level> levels;  // from outside
    IndexValues values;
    std::deque<std::uint64_t> numbers;  // of the blocks ahead
    std::int64_t last_get_ns = 0;
    double interval_ns = 0;  // between two executions of the get
    unsigned extra = 0;      // more blocks ahead, because some came late
  };

  bool follows(Cursor& cursor, std::uint64_t number, const std::vector<ActiveLoop>& loops) const;
  void restart(const Access& access, Cursor& cursor, const std::vector<ActiveLoop>& loops,
               const IndexValues& values) const;
  bool advance(const Access& access, Cursor& cursor, std::vector<ActiveLoop>& loops);
  bool next(const Access& access, Cursor& cursor, std::size_t level,
            std::vector<ActiveLoop>& loops);
  unsigned depth(std::uint32_t access) const;

  const Program& program_;
  const std::vector<std::optional<unsigned>> depths_;
  Future& future_;
  std::vector<GetCounts>& counts_;
  std::vector<Cursor> cursors_;
  double round_trip_ns_ = 0;  // of one request alone: the least of late, which grows slowly
  double transfer_ns_ = 0;    // of one block of many
  std::int64_t last_arrival_ns_ = 0;
};

}  // namespace ob::sial
