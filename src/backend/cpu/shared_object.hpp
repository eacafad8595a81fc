#pragma once
// A library opened at run time.

#include <string>

#include "base/status.hpp"

namespace ob::cpu {

/// Owns one dlopen. Symbols never become visible to the rest of the process.
/// Threads: any
class SharedObject {
 public:
  /// Errors: unavailable, with the loader's reason.
  static Result<SharedObject> open(const std::string& name);
  /// A second, independent instance of an open library, with its own globals and threads: loaded
  /// from a copy of its file in memory, since the loader gives out the first instance again for the
  /// same file.
  /// Errors: unavailable
  static Result<SharedObject> open_copy(const SharedObject& original);

  SharedObject(SharedObject&& other) noexcept;
  SharedObject& operator=(SharedObject&& other) noexcept;
  ~SharedObject();

  /// nullptr if absent.
  void* symbol(const char* name) const noexcept;
  /// The symbol as a function pointer of the wanted type; nullptr if absent.
  template <class Function>
  void load(const char* name, Function*& function) const noexcept {
    function = reinterpret_cast<Function*>(symbol(name));
  }

 private:
  static Result<SharedObject> open_as(const std::string& name, int flags);
  explicit SharedObject(void* handle) noexcept : handle_(handle) {}
  void* handle_ = nullptr;
};

}  // namespace ob::cpu
