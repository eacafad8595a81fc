#pragma once
// A program in memory, as the loader verified it. The records are those of docs/sial/bytecode.md.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sial/code/opcode.hpp"

namespace ob::sial {

inline constexpr unsigned kMaxRank = 8;          ///< of a block
inline constexpr unsigned kMaxLoopIndices = 16;  ///< of a pardo
inline constexpr unsigned kMaxStack = 64;        ///< values of an expression
inline constexpr unsigned kMaxArguments = 16;    ///< of a super-instruction
/// A number that is absent.
inline constexpr std::uint32_t kNone = 0xffffffff;

struct Source {
  std::string name;
  std::array<std::uint8_t, 32> sha256{};
};

struct IntVariable {
  std::string name;
  bool predefined = false;
  std::int64_t initial = 0;
};

struct ScalarVariable {
  std::string name;
  bool predefined = false;
  double initial = 0;
};

/// A bound of an index: a literal, or the number of a predefined int.
struct Bound {
  bool variable = false;
  std::int64_t value = 0;
};

enum class IndexKind : std::uint8_t { simple = 0, segmented = 1, subindex = 2 };

struct Index {
  std::string name;
  IndexKind kind = IndexKind::simple;
  std::string table;             ///< of segment extents; empty unless segmented
  std::uint32_t parent = kNone;  ///< of a subindex
  Bound lower, upper;            ///< not of a subindex
};

enum class Storage : std::uint8_t { static_ = 0, temp = 1, local = 2, distributed = 3, served = 4 };

struct Array {
  std::string name;
  Storage storage = Storage::temp;
  bool predefined = false;
  bool contiguous = false;
  std::vector<std::uint32_t> indices;  ///< one per dimension
};

struct SuperInstruction {
  std::string name;
  std::string intents;  ///< letters r, w, u: one per argument
};

struct Proc {
  std::string name;
  std::uint32_t begin = 0, end = 0;  ///< instructions [begin, end)
};

/// One dimension of a selector.
struct Selected {
  std::uint32_t index = kNone;  ///< kNone: `*`, all segments
  bool as_simple = false;       ///< the cast `(index) i`
};

struct Selector {
  std::uint32_t array = 0;
  std::vector<Selected> dimensions;
};

enum class LoopKind : std::uint8_t { do_ = 0, do_in = 1, pardo = 2 };

struct Loop {
  LoopKind kind = LoopKind::do_;
  std::string schedule;     ///< empty: none is named
  std::uint32_t begin = 0;  ///< the instruction loop_begin
  std::uint32_t body = 0;   ///< the where clauses are [begin + 1, body)
  std::uint32_t end = 0;    ///< the instruction loop_end
  std::uint32_t section = kNone;
  std::vector<std::uint32_t> indices;
};

/// A get, as the look-ahead needs it.
struct Access {
  std::uint32_t instruction = 0;
  std::uint32_t selector = 0;
  bool guarded = false;
  bool predictable = false;
  bool in_open_loop = false;         ///< a loop around it contains exit or cycle
  std::vector<std::uint32_t> loops;  ///< around it, innermost first
};

struct Instruction {
  Opcode op = Opcode::halt;
  std::uint16_t x = 0;
  std::uint32_t a = 0, b = 0, c = 0;
};

struct Line {
  std::uint32_t source = 0, line = 0, column = 0;
};

/// A verified program. Every number in it names a record that exists and has the right sort.
struct Program {
  std::string name;
  std::string compiler;
  std::uint32_t optimisation = 0;
  std::vector<Source> sources;
  std::vector<std::string> strings;
  std::vector<std::int64_t> int_constants;
  std::vector<double> scalar_constants;
  std::vector<IntVariable> ints;
  std::vector<ScalarVariable> scalars;
  std::vector<Index> indices;
  std::vector<Array> arrays;
  std::vector<SuperInstruction> super_instructions;
  std::vector<Proc> procs;  ///< 0 is the program itself
  std::vector<Selector> selectors;
  std::vector<Loop> loops;
  std::vector<Instruction> code;
  std::vector<Line> lines;  ///< one per instruction
  std::vector<Access> accesses;
};

}  // namespace ob::sial
