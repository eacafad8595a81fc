#pragma once
// A table from ids of one kind to objects.

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ob {

/// Gives objects the ids 1, 2, 3 ... and finds them by id. A found object stays alive while the
/// caller holds it.
/// Threads: any
template <class IdType, class Object>
class HandleTable {
 public:
  IdType add(std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t id = ++last_;
    objects_.emplace(id, std::move(object));
    return IdType{id};
  }

  /// Finds an object; nullptr if unknown.
  std::shared_ptr<Object> find(IdType id) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(id.value);
    return found == objects_.end() ? nullptr : found->second;
  }

  /// Removes an object and returns it; nullptr if unknown.
  std::shared_ptr<Object> take(IdType id) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(id.value);
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<Object> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

  /// Removes the objects for which `wanted` returns true, and returns them.
  template <class Predicate>
  std::vector<std::shared_ptr<Object>> take_if(Predicate wanted) {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Object>> taken;
    for (auto at = objects_.begin(); at != objects_.end();) {
      if (!wanted(*at->second)) {
        ++at;
        continue;
      }
      taken.push_back(std::move(at->second));
      at = objects_.erase(at);
    }
    return taken;
  }

  /// Removes all objects and returns them.
  std::vector<std::shared_ptr<Object>> take_all() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Object>> all;
    for (auto& entry : objects_) all.push_back(std::move(entry.second));
    objects_.clear();
    return all;
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, std::shared_ptr<Object>> objects_;
};

}  // namespace ob
