#pragma once
// One of NVIDIA's libraries, opened at run time.

#include <string>
#include <utility>

#include "base/status.hpp"

namespace ob::cuda {

/// Owns one handle of dlopen(). The symbols never become visible to the rest of the process. The
/// library is never unloaded, because NVIDIA's libraries keep threads and handlers that outlive
/// their handles.
/// Threads: any
class Library {
 public:
  /// Searches for `soname` in the folders of OUTBOARD_CUDA_PATH (separated by ':'), then in the
  /// places of the loader, then in /usr/local/cuda/lib64.
  /// Errors: unavailable, with the loader's reason for each place
  static Result<Library> open(const std::string& soname);

  /// Finds a function; nullptr if absent.
  void* symbol(const char* name) const noexcept;
  /// Returns the error of a library without that function.
  Status lacks(const char* function) const;
  /// Returns the library's file, for messages.
  const std::string& path() const noexcept { return path_; }

 private:
  Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* handle_;
  std::string path_;
};

}  // namespace ob::cuda

// These macros make tables of functions. OB_CUDA_MEMBER turns a list OB_X_FUNCTIONS(X) of X(name)
// into members, and OB_CUDA_FILL fills them from `library`. Names are those of the header, which
// may be macros for the names of a version (cublasDgemm is cublasDgemm_v2). Members and symbols
// then have the version's name, and the source text `table.cublasDgemm(...)` refers to it.
#define OB_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
#define OB_CUDA_TEXT(name) OB_CUDA_TEXT_INNER(name)
#define OB_CUDA_TEXT_INNER(name) #name
/// Fills `table` from `library`. The member of an absent function stays nullptr. `missing` (a const
/// char*) names the first absent function.
#define OB_CUDA_FILL(name)                                                                 \
  table.name = reinterpret_cast<decltype(table.name)>(library.symbol(OB_CUDA_TEXT(name))); \
  if (table.name == nullptr && missing == nullptr) missing = OB_CUDA_TEXT(name);
