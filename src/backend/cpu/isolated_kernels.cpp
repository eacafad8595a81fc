#include "backend/cpu/isolated_kernels.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <utility>

#include "backend/cpu/executor_requests.hpp"
#include "device/host_buffer.hpp"
#include "device/kernels/kernel_codec.hpp"
#include "executor/folder_cache.hpp"
#include "executor/sandbox.hpp"
#include "wire/codec.hpp"

namespace ob::cpu {
namespace {

using executor::Process;

// A compiler that takes longer does not end by itself. PoCL takes about a second.
constexpr auto kLongestCompilation = std::chrono::seconds(60);

// A change of threads each way costs little for this many short launches. Fewer go together if
// their arguments fill the body of a request.
constexpr std::size_t kMostTogether = 32;

// Looks for the file by which the loader of OpenCL finds PoCL. To open PoCL itself would load a
// compiler into the daemon.
Status find_compiler() {
  OB_RETURN_IF_ERROR(executor::can_restrict_files());
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/etc/OpenCL/vendors", error)) {
    std::ifstream file(entry.path());
    std::string line;
    if (std::getline(file, line) && line.find("pocl") != std::string::npos) return {};
  }
  return {Code::unsupported,
          "kernels on the processor need PoCL, the Debian package pocl-opencl-icd, on the daemon's "
          "machine"};
}

std::string options_of(const std::vector<Definition>& definitions) {
  std::string options;
  for (const Definition& each : definitions) {
    options.append("-D ").append(each.name).append("=").append(each.value).append(" ");
  }
  return options;
}

class KernelMapping {
 public:
  KernelMapping(std::weak_ptr<Process> process, std::uint64_t id)
      : process_(std::move(process)), id_(id) {}
  ~KernelMapping() {
    if (const auto process = process_.lock()) process->notify(kCallLane, id_);
  }
  KernelMapping(const KernelMapping&) = delete;
  KernelMapping& operator=(const KernelMapping&) = delete;
  std::uint64_t id() const noexcept { return id_; }

 private:
  const std::weak_ptr<Process> process_;
  const std::uint64_t id_;
};

Status order(Process& process, KernelRequest kind, std::span<const std::byte> body,
             const Process::Stop& stop, int descriptor = -1) {
  return process.request(kCallLane, {static_cast<std::uint32_t>(kind), body, descriptor}, stop);
}

}  // namespace

// --- processes -----------------------------------------------------------------------------------

class IsolatedKernels::Workers {
 public:
  explicit Workers(executor::Program program) : program_(std::move(program)) {}

  /// Starts a process for the first module.
  executor::Executors& executors() {
    const std::lock_guard lock(mutex_);
    if (!executors_) {
      executors_.emplace(program_, kMostEnds,
                         [this](const executor::Owner& owner, const Process& process) {
                           keep_files(owner.first, process);
                         });
    }
    return *executors_;
  }
  std::uint64_t deaths() noexcept {
    const std::lock_guard lock(mutex_);
    return executors_ ? executors_->deaths() : 0;
  }
  /// Returns the process of a session. A new one gets the machine code that earlier ones of the
  /// same user have compiled. Users who have proven nothing share no code.
  Result<std::shared_ptr<Process>> process_of(const Account& account) {
    OB_ASSIGN_OR_RETURN(auto process, executors().of(owner(account)));
    if (!account.user) return process;
    const std::lock_guard lock(filling_);
    std::uint64_t& filled = filled_[owner(account)];
    if (std::exchange(filled, process->number()) != process->number()) {
      had_files_[owner(account)] = cache_.fill(account.user, process->folder());
    }
    return process;
  }
  /// Forgets the code of a user, which may be why a process failed, and keeps none of the process.
  /// @returns true if the process had such code
  bool suspect(const Account& account, const Process& process) {
    const std::lock_guard lock(filling_);
    suspects_[owner(account)] = process.number();
    cache_.forget(account.user);
    return std::exchange(had_files_[owner(account)], false);
  }
  std::uint64_t next_id() noexcept { return ++last_id_; }

  /// Counts the modules of a session.
  void enter(const Account& account) {
    const std::lock_guard lock(mutex_);
    ++modules_[owner(account)];
  }
  void leave(const Account& account) {
    {
      const std::lock_guard lock(mutex_);
      const auto at = modules_.find(owner(account));
      if (--at->second > 0) return;
      modules_.erase(at);
    }
    executors().end(owner(account));
    const std::lock_guard lock(filling_);
    filled_.erase(owner(account));
    had_files_.erase(owner(account));
    suspects_.erase(owner(account));
  }
  static executor::Owner owner(const Account& account) { return {account.user, account.session}; }

  /// Returns the id of a segment in the process, which maps it now if it has not.
  Result<std::uint64_t> mapped(const std::shared_ptr<Process>& process, HostSegment& segment,
                               const Account& account, const Process::Stop& stop) {
    if (const auto found = segment.kernel_mapping_of(process->number())) {
      return static_cast<const KernelMapping*>(found.get())->id();
    }
    const std::uint64_t id = next_id();
    wire::Body body;
    body.u64(id);
    body.u64(segment.size_bytes());
    segment.map_for_kernels(account, process->number(), nullptr);  // before the process may keep it
    OB_RETURN_IF_ERROR(order(*process, KernelRequest::map, body.bytes(), stop, segment.fd()));
    segment.map_for_kernels(account, process->number(),
                            std::make_shared<KernelMapping>(process, id));
    return id;
  }

 private:
  void keep_files(UserId user, const Process& process) {
    if (!user) return;
    {
      const std::lock_guard lock(filling_);
      for (const auto& [owner, number] : suspects_) {
        if (number == process.number()) return;
      }
    }
    cache_.take(user, process.folder());
  }

  const executor::Program program_;
  std::atomic<std::uint64_t> last_id_{0};
  executor::FolderCache cache_;
  std::mutex filling_;  // guards the next three, the first two of which have numbers of processes
  std::map<executor::Owner, std::uint64_t> filled_;
  std::map<executor::Owner, std::uint64_t> suspects_;
  std::map<executor::Owner, bool> had_files_;
  std::mutex mutex_;  // guards all below
  std::optional<executor::Executors> executors_;
  std::map<executor::Owner, std::size_t> modules_;
};

// --- modules -------------------------------------------------------------------------------------

class IsolatedKernels::Program final : public KernelProgram {
 public:
  Program(std::shared_ptr<Workers> workers, const Account& account, ModuleSource source)
      : workers_(std::move(workers)),
        account_(account),
        id_(workers_->next_id()),
        source_(std::move(source)) {
    workers_->enter(account_);
  }
  ~Program() override {
    if (const auto process = process_.lock()) process->notify(kCallLane, id_ | kPlanNotice);
    workers_->leave(account_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const std::vector<KernelFacts>& kernels() const noexcept override { return kernels_; }

  Status build(std::string& log) {
    ModuleReport report;
    bool had_files = false;
    Status status = contained_build(report, had_files);
    // Files of an earlier process may be why the compiler has ended; there are none now.
    if (status.code() == Code::build_failed && had_files) {
      report = {};
      status = contained_build(report, had_files);
    }
    log = std::move(report.log);
    kernels_ = std::move(report.kernels);
    return status;
  }

  Status run(const BoundLaunch& launch, HostQueue& queue) const override {
    const BoundLaunch* const only[] = {&launch};
    std::size_t ran = 0;
    return run_some(only, queue, ran);
  }
  std::size_t most_together() const noexcept override { return kMostTogether; }
  // A process may end before it takes the launches, for instance because somebody kills it while it
  // waits. No kernel has run then, so another process gets the launches.
  Status run_some(std::span<const BoundLaunch* const> launches, HostQueue& /*queue*/,
                  std::size_t& ran) const override {
    bool lost = false;
    Status status = run_once(launches, ran, lost);
    if (lost) status = run_once(launches, ran, lost);
    return status;
  }

 private:
  // A request for the process.
  struct Packed {
    KernelRequest kind = KernelRequest::launch;
    std::size_t launches = 0;
    std::vector<std::byte> body;
  };

  const std::string& name_of(const BoundLaunch& launch) const {
    return kernels_[launch.kernel].signature.name;
  }

  // The time of the kernels begins when their process is ready.
  // @param lost becomes true if the process has ended and no kernel has begun
  Status run_once(std::span<const BoundLaunch* const> launches, std::size_t& ran,
                  bool& lost) const {
    using Clock = std::chrono::steady_clock;
    ran = 0;
    lost = false;
    const auto stop = [caller = launches.front()->caller](std::chrono::duration<double> took) {
      return caller == nullptr ? Status() : caller->stop(took);
    };
    const Process::Stop preparing = [&](std::chrono::nanoseconds) { return stop({}); };
    OB_RETURN_IF_ERROR(stop({}));
    OB_ASSIGN_OR_RETURN(const auto process, workers_->process_of(account_));
    Status status = load_into(process, preparing);
    const Result<Packed> packed =
        status.ok() ? pack(process, launches, preparing) : Result<Packed>(status);
    if (!packed.ok()) {
      lost = packed.status().code() == Code::device_error && process->ended();
      return fault_of(packed.status(), *process, name_of(*launches.front()));
    }
    const Process::Stop running = [&, began = Clock::now()](std::chrono::nanoseconds) {
      return stop(Clock::now() - began);
    };
    bool began = false;
    std::uint32_t done = 0;
    status = process->request(kCallLane,
                              {.kind = static_cast<std::uint32_t>(packed->kind),
                               .body = packed->body,
                               .cheap = true,
                               .began = &began,
                               .done = &done},
                              running);
    lost = status.code() == Code::device_error && !began && process->ended();
    // A process that was taken over can say any number.
    ran = status.ok() ? std::clamp<std::size_t>(done, 1, packed->launches)
                      : std::min<std::size_t>(began ? done : 0, packed->launches - 1);
    return fault_of(status, *process, name_of(*launches[ran < packed->launches ? ran : 0]));
  }

  // Packs the first launch, and as many of the others as there is room for. One that cannot be
  // described fails in its own turn.
  Result<Packed> pack(const std::shared_ptr<Process>& process,
                      std::span<const BoundLaunch* const> launches,
                      const Process::Stop& stop) const {
    Packed packed;
    for (const BoundLaunch* const launch : launches) {
      auto message = message_of(process, *launch, stop);
      if (!message.ok() && packed.launches == 0) return message.status();
      if (!message.ok()) break;
      wire::Body body;
      wire::encode(*message, body);
      const auto bytes = static_cast<std::uint32_t>(body.bytes().size());
      // Sizes stand in front of the launches if there are several.
      const std::size_t whole = packed.body.size() + bytes + 2 * sizeof bytes;
      if (packed.launches > 0 && whole > executor::Lane::kBodyBytes) break;
      if (packed.launches == 1) {
        prefix(packed.body, 0, static_cast<std::uint32_t>(packed.body.size()));
        packed.kind = KernelRequest::launches;
      }
      if (packed.launches > 0) prefix(packed.body, packed.body.size(), bytes);
      packed.body.insert(packed.body.end(), body.bytes().begin(), body.bytes().end());
      ++packed.launches;
    }
    return packed;
  }
  static void prefix(std::vector<std::byte>& body, std::size_t at, std::uint32_t bytes) {
    const auto size = std::as_bytes(std::span(&bytes, 1));
    body.insert(body.begin() + static_cast<std::ptrdiff_t>(at), size.begin(), size.end());
  }

  // @param had_files true if the process has ended, and had files of earlier ones
  Status contained_build(ModuleReport& report, bool& had_files) {
    had_files = false;
    OB_ASSIGN_OR_RETURN(const auto process, workers_->process_of(account_));
    const auto began = std::chrono::steady_clock::now();
    Status status = load(process, report, [began](std::chrono::nanoseconds) -> Status {
      if (std::chrono::steady_clock::now() - began < kLongestCompilation) return {};
      return {Code::build_failed, "the compiler takes too long"};
    });
    if (!status.ok()) had_files = workers_->suspect(account_, *process) && process->ended();
    if (status.code() != Code::device_error) return status;
    if (!process->ended()) return {Code::build_failed, status.message()};  // see fault_of()
    return {Code::build_failed, "the compiler ended (" + process->how_it_ended() + ")"};
  }

  // A failure of a process that has ended is the kernel's, and so is a device error of a process
  // that lives: a kernel that has taken it over can say anything of the device.
  Status fault_of(const Status& status, Process& process, const std::string& name) const {
    if (status.ok()) return status;
    workers_->suspect(account_, process);
    const bool has_ended = process.ended();
    if (!has_ended && status.code() != Code::device_error) return status;
    const std::string how = has_ended && status.code() != Code::busy
                                ? "its process ended: " + ended(process)
                                : status.message();
    return {Code::kernel_fault,
            "kernel " + name + ": " + how + "; what it was to write is undefined"};
  }
  static std::string ended(Process& process) { return process.how_it_ended(); }

  Status load_into(const std::shared_ptr<Process>& process, const Process::Stop& stop) const {
    {
      const std::lock_guard lock(mutex_);
      if (loaded_in_ == process->number()) return {};
    }
    ModuleReport report;
    return load(process, report, stop);
  }

  Status load(const std::shared_ptr<Process>& process, ModuleReport& report,
              const Process::Stop& stop) const {
    OB_ASSIGN_OR_RETURN(const wire::LoadModule message, describe_module(ModuleId{id_}, source_));
    wire::Body body;
    wire::encode(message, body);
    const std::vector<std::byte> payload = module_payload(source_);
    OB_ASSIGN_OR_RETURN(
        const auto file,
        HostSegment::create(sizeof(ModuleFile) + wire::kMaxBodyBytes +
                            std::max<std::size_t>(payload.size(), wire::kMaxReportBytes)));
    ModuleFile header{body.bytes().size(), payload.size(), 0, 0};
    std::byte* at = file->data();
    std::memcpy(at, &header, sizeof header);
    at = std::copy(body.bytes().begin(), body.bytes().end(), at + sizeof header);
    std::copy(payload.begin(), payload.end(), at);
    wire::Body request;
    request.u64(file->size_bytes());
    const Status status = order(*process, KernelRequest::load, request.bytes(), stop, file->fd());
    if (process->ended()) return status;
    OB_RETURN_IF_ERROR(read_answer(*file, report));
    OB_RETURN_IF_ERROR(status);
    const std::lock_guard lock(mutex_);
    loaded_in_ = process->number();
    process_ = process;
    return {};
  }

  // The process may have been taken over, and may change the file meanwhile: it is copied first.
  static Status read_answer(const HostSegment& file, ModuleReport& report) {
    ModuleFile header;
    std::memcpy(&header, file.data(), sizeof header);
    if (header.body_bytes != 0) return {};  // it did not come to a report
    if (header.payload_bytes > wire::kMaxReportBytes || header.kernels > UINT32_MAX) {
      return {Code::protocol_error, "the report of a module is too large"};
    }
    const std::byte* const begin = file.data() + sizeof header;
    const std::vector<std::byte> payload(begin, begin + header.payload_bytes);
    return read_report(static_cast<std::uint32_t>(header.kernels), header.log_bytes, payload,
                       report);
  }

  Result<wire::Launch> message_of(const std::shared_ptr<Process>& process,
                                  const BoundLaunch& launch, const Process::Stop& stop) const {
    std::vector<KernelArgument> arguments;
    arguments.reserve(launch.arguments.size());
    for (const BoundArgument& bound : launch.arguments) {
      KernelArgument& argument = arguments.emplace_back();
      argument.kind = bound.kind;
      argument.bytes = static_cast<std::uint32_t>(bound.bytes);
      argument.value = bound.data;
      if (bound.kind != ParameterKind::buffer) continue;
      HostSegment& segment = *static_cast<const HostBuffer*>(bound.buffer.get())->segment();
      OB_ASSIGN_OR_RETURN(const std::uint64_t id,
                          workers_->mapped(process, segment, account_, stop));
      const auto offset = static_cast<std::uint64_t>(bound.data - segment.data());
      argument = {bound.kind, 0, nullptr, {BufferId{id}, offset}, bound.bytes};
    }
    return describe_launch({ModuleId{id_}, kernels_[launch.kernel].signature.name, launch.groups,
                            launch.group_size, arguments});
  }

  const std::shared_ptr<Workers> workers_;
  const Account account_;
  const std::uint64_t id_;
  const ModuleSource source_;  // for processes that replace others
  std::vector<KernelFacts> kernels_;
  mutable std::mutex mutex_;  // guards all below
  mutable std::uint64_t loaded_in_ = 0;
  mutable std::weak_ptr<Process> process_;
};

// --- the runner ----------------------------------------------------------------------------------

IsolatedKernels::IsolatedKernels(executor::Program program)
    : workers_(std::make_shared<Workers>(std::move(program))) {}

IsolatedKernels::~IsolatedKernels() = default;

Status IsolatedKernels::usable() const {
  OB_RETURN_IF_ERROR(find_compiler());
  (void)workers_->executors();
  return {};
}

std::uint64_t IsolatedKernels::process_deaths() const noexcept { return workers_->deaths(); }

bool IsolatedKernels::takes(const ModuleVariant& variant) const {
  return variant.kind == SourceKind::portable || variant.kind == SourceKind::opencl;
}

Result<std::unique_ptr<KernelProgram>> IsolatedKernels::compile(
    const ModuleVariant& variant, const std::vector<Definition>& definitions,
    std::string& log) const {
  return compile_for({}, variant, definitions, log);
}

Result<std::unique_ptr<KernelProgram>> IsolatedKernels::compile_for(
    const Account& account, const ModuleVariant& variant,
    const std::vector<Definition>& definitions, std::string& log) const {
  auto program = std::make_unique<Program>(workers_, account,
                                           ModuleSource{{variant}, options_of(definitions)});
  OB_RETURN_IF_ERROR(program->build(log));
  return std::unique_ptr<KernelProgram>(std::move(program));
}

}  // namespace ob::cpu
