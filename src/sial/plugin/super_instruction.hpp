#pragma once
// Super-instructions as the interpreter calls them.

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "base/status.hpp"
#include "sial/operations/view.hpp"

namespace ob::sial {

enum class ArgumentKind : std::uint8_t {
  block,    ///< a block, a region or a whole static: `view`
  scalar,   ///< `scalar`
  integer,  ///< `integer`; an index has the intent r
  text,     ///< `text`
  array,    ///< a whole array on the servers: `array`; for functions with a `task`
};

/// The work of a super-instruction that needs messages: the worker does it.
enum class WorkerTask : std::uint8_t {
  none,
  save_array,     ///< writes all blocks of a distributed array, under its name
  restore_array,  ///< reads them
};

/// One argument of a call. Memory: valid during the call
struct CallArgument {
  ArgumentKind kind = ArgumentKind::block;
  char intent = 'r';                                    ///< r, w or u
  View view;                                            ///< not to be written if the intent is r
  std::string name;                                     ///< of the array
  std::uint32_t array = 0;                              ///< its number in the program
  std::array<std::int64_t, kMaxRank> segments{};        ///< per dimension
  std::array<std::int64_t, kMaxRank> first_elements{};  ///< 1-based, per dimension
  double* scalar = nullptr;
  std::int64_t* integer = nullptr;
  std::string text;
  double literal = 0;  ///< where `scalar` points if the program passes a number
  std::int64_t int_literal = 0;
};

class BlockInventory;

/// The surroundings of a call, beside its arguments.
struct CallContext {
  std::uint32_t rank = 0;                  ///< of the worker
  std::uint32_t workers = 1;               ///< of the job
  std::uint32_t line = 0;                  ///< of the execute statement
  std::string program;                     ///< its name
  std::filesystem::path folder;            ///< of files that functions write: that of saved objects
  const BlockInventory* blocks = nullptr;  ///< that the worker holds; nullptr: there is no worker
  bool* print_all = nullptr;  ///< whether this worker prints although it is not worker 0
  std::function<void(const std::string&)> print;
};

/// Errors: any; the message reaches the user as R08
using SuperFunction = std::function<Status(CallContext&, std::span<CallArgument>)>;

struct KnownFunction {
  std::string intents;  ///< as in the `special` declaration
  SuperFunction function;
  bool takes_strides = true;           ///< it gets views of blocks that are not dense as they are
  bool overwrites = false;             ///< it writes all elements of its w arguments
  WorkerTask task = WorkerTask::none;  ///< in place of `function`
};

/// Returns the message for a super-instruction that a job does not have.
inline std::string no_function(const std::string& name) {
  return "there is no super-instruction " + name +
         "; name its plug-in under `plugins` in the job file";
}

/// Functions by name.
using SuperFunctions = std::map<std::string, KnownFunction>;

}  // namespace ob::sial
