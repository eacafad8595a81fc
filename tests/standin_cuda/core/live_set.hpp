#pragma once
// The valid handles of one kind.

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "report.hpp"

namespace standin {

/// Owns objects that a program knows by opaque handles, and detects invalid handles.
/// Memory: an object lives until its last user is done   Threads: any
template <class T>
class LiveSet {
 public:
  /// @param kind the name of these objects in reports of leaks
  explicit LiveSet(const char* kind) : kind_(kind) {}

  void* add(std::shared_ptr<T> object) {
    Report::instance().born(kind_);
    const std::lock_guard lock(mutex_);
    void* const handle = object.get();
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  /// Returns nullptr if there is no such object.
  std::shared_ptr<T> find(const void* handle) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(const_cast<void*>(handle));
    return found == objects_.end() ? nullptr : found->second;
  }
  std::shared_ptr<T> remove(const void* handle) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(const_cast<void*>(handle));
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    Report::instance().died(kind_);
    return object;
  }
  std::vector<std::shared_ptr<T>> all() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<T>> objects;
    for (const auto& [handle, object] : objects_) objects.push_back(object);
    return objects;
  }

 private:
  const char* const kind_;
  std::mutex mutex_;
  std::unordered_map<void*, std::shared_ptr<T>> objects_;
};

}  // namespace standin
