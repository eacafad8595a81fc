#include "backend/cpu/executor_service.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>
#include <vector>

#include "backend/cpu/executor_requests.hpp"
#include "executor/sandbox.hpp"
#include "routines/codec.hpp"
#include "wire/codec.hpp"

namespace ob::cpu {
namespace {

Status malformed() { return {Code::protocol_error, "a malformed request to an executor"}; }

// Folders that are not the system's, but that the user's variables name for libraries.
std::vector<std::string> named_folders() {
  std::vector<std::string> folders;
  if (const char* library = std::getenv("OUTBOARD_BLAS"); library != nullptr && *library == '/') {
    folders.push_back(std::filesystem::path(library).parent_path().string());
  }
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) {
    std::istringstream all(path);
    for (std::string folder; std::getline(all, folder, ':');) folders.push_back(folder);
  }
  return folders;
}

}  // namespace

Status ExecutorService::start() {
  OB_RETURN_IF_ERROR(executor::restrict_files(named_folders()));
  libraries_ = Libraries::open(false, config_.threads);
  runner_ = std::make_unique<LocalRunner>(libraries_, config_.threads);
  // Threads that a library started later could inherit the core of a cheap computation.
  if (libraries_->blas != nullptr) libraries_->blas->start_threads();
  return executor::restrict_calls(config_.memory_bytes);
}

HeldMemory ExecutorService::held(BufferId id) const {
  const auto found = segments_.find(id.value);
  if (found == segments_.end()) return {};
  return {found->second, found->second->data(), found->second->size_bytes()};
}

Status ExecutorService::handle(std::size_t lane, std::uint32_t kind,
                               std::span<const std::byte> body) {
  const auto request = static_cast<Request>(kind);
  if (lane == kPlanLane) return request == Request::plan ? plan(lane, body) : malformed();
  switch (request) {
    case Request::map: return map(body);
    case Request::call: return call(body);
    case Request::plan: return plan(lane, body);
    case Request::execute: return execute(body);
  }
  return malformed();
}

void ExecutorService::take_notice(std::size_t /*lane*/, std::uint64_t notice) {
  if ((notice & kPlanNotice) == 0) {
    segments_.erase(notice);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (auto node = plans_.extract(notice & ~kPlanNotice)) unused_.push_back(std::move(node));
  }
  destroy_unused();
}

// FFTW destroys no plan while it makes one. The lane that makes it calls this afterwards.
void ExecutorService::destroy_unused() {
  const std::unique_lock planning(planning_, std::try_to_lock);
  if (!planning) return;
  std::vector<Plans::node_type> unused;
  const std::lock_guard lock(mutex_);
  unused.swap(unused_);
}

Status ExecutorService::map(std::span<const std::byte> body) {
  wire::Reader reader(body);
  const std::uint64_t id = reader.u64();
  const std::uint64_t size_bytes = reader.u64();
  Fd descriptor = executor::receive_descriptor();
  if (!reader.ok() || !descriptor) return malformed();
  auto segment = HostSegment::share(std::move(descriptor), size_bytes);
  OB_RETURN_IF_ERROR(segment.status());
  segments_[id] = std::move(segment).value();
  return {};
}

Status ExecutorService::call(std::span<const std::byte> body) {
  OB_ASSIGN_OR_RETURN(const DecodedCall decoded, decode_call(body));
  HostCall checked;
  OB_RETURN_IF_ERROR(
      prepare_call(*libraries_, *this, *decoded.routine, decoded.arguments, checked));
  return runner_->run(checked, {});
}

// A plan that waited for a long one of the other lane would exceed the time that it may take.
Status ExecutorService::plan(std::size_t lane, std::span<const std::byte> body) {
  OB_ASSIGN_OR_RETURN(const DecodedPlan decoded, decode_plan(body));
  OB_ASSIGN_OR_RETURN(auto made, runner_->plan(decoded.plan, {}));
  {
    std::unique_lock planning(planning_, std::defer_lock);
    if (lane == kCallLane) {
      planning.lock();
    } else if (!planning.try_lock()) {
      return {Code::busy, "another plan is being made"};
    }
    made->build();
  }
  destroy_unused();
  std::uint64_t waited_ns = 0;
  OB_RETURN_IF_ERROR(made->wait(waited_ns));
  const std::lock_guard lock(mutex_);
  plans_[decoded.id.value] = std::move(made);
  return {};
}

Status ExecutorService::execute(std::span<const std::byte> body) {
  wire::Reader reader(body);
  const std::uint64_t id = reader.u64();
  BufferRef arrays[2];
  for (BufferRef& array : arrays) {
    array.buffer.value = reader.u64();
    array.offset_bytes = reader.u64();
  }
  std::shared_ptr<TransformPlan> plan;
  {
    const std::lock_guard lock(mutex_);
    const auto found = plans_.find(id);
    if (found != plans_.end()) plan = found->second;
  }
  if (!reader.ok() || plan == nullptr) return malformed();
  HostTransform transform;
  OB_RETURN_IF_ERROR(resolve_transform(*this, plan->plan(), arrays[0], arrays[1], transform));
  return plan->execute(transform, {});
}

}  // namespace ob::cpu
