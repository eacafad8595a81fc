#pragma once
// A library opened at run time.

#include <string>

#include "base/status.hpp"

namespace ob::cpu {

/// Owns one dlopen. Symbols never become visible to the rest of the process.
/// Threads: any
class SharedObject {
 public:
  /// Opens a library.   Errors: unavailable, with the loader's reason
  static Result<SharedObject> open(const std::string& name);
  /// Opens a second, independent instance of an open library, with its own globals and threads. It
  /// is loaded from a copy of the file in memory, because the loader returns the first instance
  /// again for the same file.
  /// Errors: unavailable
  static Result<SharedObject> open_copy(const SharedObject& original);

  SharedObject(SharedObject&& other) noexcept;
  SharedObject& operator=(SharedObject&& other) noexcept;
  ~SharedObject();

  /// Finds a symbol; nullptr if absent.
  void* symbol(const char* name) const noexcept;
  /// Finds a function; nullptr if absent.
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
