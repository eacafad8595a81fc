#pragma once
// The variables and blocks of workers as JSON, for tests.

#include <memory>
#include <string>

#include "sial/worker/worker.hpp"

namespace ob::apps {

class StateDump {
 public:
  StateDump();
  ~StateDump();
  /// Adds what a worker holds at the end of a program.
  void add(const sial::Program& program, unsigned worker, sial::Worker& state);
  /// Writes the file.   Errors: unavailable
  Status write(const std::string& path) const;

 private:
  struct Text;
  std::unique_ptr<Text> text_;
};

}  // namespace ob::apps
