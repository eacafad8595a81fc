#include "daemon/session/session_modules.hpp"

#include <pthread.h>

#include <algorithm>

#include "base/contained.hpp"

namespace ob::daemon {
namespace {

// Modules that failed count, too, until they are unloaded.
constexpr std::size_t kMostIds = 4 * kMostModules;

}  // namespace

// --- answers -------------------------------------------------------------------------------------

void ModuleAnswers::post(Send send, ModuleReport report) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  waiting_.emplace_back(std::move(send), std::move(report));
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), "ob-modules");
  }
  changed_.notify_one();
}

void ModuleAnswers::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  waiting_.clear();
}

void ModuleAnswers::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
    if (closed_) return;
    const std::pair<Send, ModuleReport> next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    (void)contained([&next]() -> Status {
      next.first(next.second);
      return {};
    });
    lock.lock();
  }
}

// --- modules -------------------------------------------------------------------------------------

SessionModules::SessionModules(Device& device, const Account& account)
    : device_(device), account_(account), answers_(std::make_shared<ModuleAnswers>()) {
  support_.why = "the session was opened without kernels";
}

SessionModules::~SessionModules() {
  answers_->close();
  for (const auto& [id, module] : modules_) {
    if (module.local) (void)device_.unload_module(module.local);
  }
}

void SessionModules::enable(const GrantedKernels& granted, std::uint32_t longest_kernel_ms) {
  support_ = {};
  if (granted.rights == KernelRights::off) {
    support_.why = granted.why;
    return;
  }
  const Status runs = device_.runs_kernels();
  if (!runs.ok()) {
    support_.why = runs.message();
    return;
  }
  support_.kinds = device_.kernel_kinds();
  constexpr std::uint32_t kPortable = 1U << static_cast<unsigned>(SourceKind::portable);
  if (granted.rights == KernelRights::portable) support_.kinds &= kPortable;
  support_.longest_kernel_ms = longest_kernel_ms;
  if (support_.kinds == 0) support_.why = "the device takes no kernels that the client may load";
}

bool SessionModules::takes(std::uint8_t kind) const noexcept {
  return kind < 32 && (support_.kinds >> kind & 1) != 0;
}

Status SessionModules::may_load(const wire::LoadModule& message) const {
  if (support_.kinds == 0) return {Code::unsupported, support_.why};
  if (std::none_of(message.variants.begin(), message.variants.end(),
                   [this](const wire::Variant& variant) { return takes(variant.kind); })) {
    std::string kinds;
    for (const wire::Variant& variant : message.variants) {
      kinds.append(kinds.empty() ? "" : ", ")
          .append(to_string(static_cast<SourceKind>(variant.kind)));
    }
    return {Code::unsupported, "the device takes none of the module's variants from this client (" +
                                   kinds + "); add a portable one"};
  }
  const std::lock_guard lock(mutex_);
  if (modules_.size() < kMostModules) return {};
  return {Code::out_of_memory,
          "more than " + std::to_string(kMostModules) + " modules of a session; unload some"};
}

Result<ModuleId> SessionModules::submit(ModuleSource source, const ModuleAnswers::Send& answer) {
  std::erase_if(source.variants, [this](const ModuleVariant& variant) {
    return !takes(static_cast<std::uint8_t>(variant.kind));
  });
  // The report may come after the end of the session.
  return device_.load_module(
      std::move(source),
      [answers = answers_, answer](const ModuleReport& report) { answers->post(answer, report); },
      account_);
}

Status SessionModules::load(ModuleId id, Result<ModuleSource> source, Reservation text,
                            const ModuleAnswers::Send& answer) {
  const std::lock_guard lock(mutex_);
  if (!id || modules_.count(id) != 0) {
    return {Code::protocol_error, "module id " + std::to_string(id.value) + " is in use or 0"};
  }
  if (modules_.size() >= kMostIds) {
    return {Code::denied, "session has too many modules (limit " + std::to_string(kMostIds) + ")"};
  }
  auto local =
      source.ok() ? submit(std::move(source).value(), answer) : Result<ModuleId>(source.status());
  if (local.ok()) {
    modules_[id] = {*local, {}, std::move(text)};
    return {};
  }
  modules_[id] = {{}, local.status(), {}};
  answers_->post(answer, {local.status(), {}, {}});
  return {};
}

void SessionModules::unload(ModuleId id) {
  const std::lock_guard lock(mutex_);
  const auto at = modules_.find(id);
  if (at == modules_.end()) return;
  if (at->second.local) (void)device_.unload_module(at->second.local);
  modules_.erase(at);
}

Result<ModuleId> SessionModules::local(ModuleId id) const {
  const std::lock_guard lock(mutex_);
  const auto at = modules_.find(id);
  if (at == modules_.end()) {
    return Status(Code::invalid_argument,
                  "unknown module " + std::to_string(id.value) + " (unloaded or never loaded)");
  }
  if (!at->second.failure.ok()) return at->second.failure;
  return at->second.local;
}

}  // namespace ob::daemon
