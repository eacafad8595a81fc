#pragma once
// One of NVIDIA's libraries, opened at run time.

#include <string>
#include <utility>

#include "base/status.hpp"

namespace ob::cuda {

/// Owns one dlopen; its symbols never become visible to the rest of the process. Never unloaded:
/// the libraries keep threads and handlers that outlive their handles.
/// Threads: any
class Library {
 public:
  /// Looks for `soname` in the folders of OUTBOARD_CUDA_PATH (separated by ':'), then where the
  /// loader looks, then in /usr/local/cuda/lib64.
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

// Tables of functions: a list OB_X_FUNCTIONS(X) of X(name) becomes members with OB_CUDA_MEMBER and
// is filled from `library` with OB_CUDA_FILL. Names are those of the header, which may be macros
// for the names of a version (cublasDgemm is cublasDgemm_v2): members and symbols then have the
// version's name, and what is written `table.cublasDgemm(...)` finds it.
#define OB_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
#define OB_CUDA_TEXT(name) OB_CUDA_TEXT_INNER(name)
#define OB_CUDA_TEXT_INNER(name) #name
/// Into `table` from `library`; an absent one stays nullptr, and the first such is named in
/// `missing` (a const char*).
#define OB_CUDA_FILL(name)                                                                 \
  table.name = reinterpret_cast<decltype(table.name)>(library.symbol(OB_CUDA_TEXT(name))); \
  if (table.name == nullptr && missing == nullptr) missing = OB_CUDA_TEXT(name);
