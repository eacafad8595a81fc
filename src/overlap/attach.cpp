// Attaching to MPI, and leaving it.
#include <cstdio>
#include <cstdlib>

#include "overlap/agreement.hpp"
#include "overlap/mpi_calls.hpp"
#include "overlap/runtime.hpp"

namespace ob::overlap {
namespace {

/// MPI_Finalize deletes the attributes of MPI_COMM_SELF before anything else.
int finalize_hook(MPI_Comm, int, void* runtime, void*) {
  static_cast<Runtime*>(runtime)->on_finalize();
  return MPI_SUCCESS;
}

Status check_running() {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized != 0 && finalized == 0) return {};
  return Status(Code::invalid_argument,
                "MPI is not running, attach between MPI_Init_thread and MPI_Finalize");
}

/// Returns the failure of `own` on all ranks if one has one. Collective.
Status agree_on(const Communicator& comm, const Status& own) { return agree(comm.get(), {}, own); }

/// Messages between ranks with different numbers would not find each other. Collective.
Status compare_proxies(const Communicator& comm, int proxies) {
  return agree_on_values(comm.get(), {proxies},
                         [](std::size_t) { return "the number of proxies"; });
}

/// A choice that only some ranks make would wait for the others for ever. Collective.
Status compare_modes(const Communicator& comm, Mode mode) {
  int ends[2] = {int(mode), -int(mode)};
  OB_RETURN_IF_ERROR(mpi_status(
      "MPI_Allreduce", MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_INT, MPI_MAX, comm.get())));
  if (ends[0] == -ends[1]) return {};
  return Status(Code::invalid_argument,
                std::string("the modes of ranks differ (") + to_string(Mode(-ends[1])) + " and " +
                    to_string(Mode(ends[0])) + ") give all the same, or the same OUTBOARD_OVERLAP");
}

}  // namespace

Result<std::unique_ptr<Runtime>> Runtime::attach(MPI_Comm comm,
                                                 const Result<RuntimeOptions>& options) {
  OB_RETURN_IF_ERROR(check_running());
  std::unique_ptr<Runtime> runtime(new Runtime(options.ok() ? *options : RuntimeOptions()));
  OB_RETURN_IF_ERROR(runtime->set_up(comm, options.status()));
  return runtime;
}

Status Runtime::set_up(MPI_Comm comm, const Status& own) {
  OB_ASSIGN_OR_RETURN(comm_, Communicator::duplicate(comm));
  OB_RETURN_IF_ERROR(agree_on(comm_, own));
  OB_RETURN_IF_ERROR(compare_modes(comm_, options_.mode));
  OB_RETURN_IF_ERROR(compare_proxies(comm_, options_.proxies));
  rank_ = comm_.rank();
  int world_rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  timeline_.name_rank(world_rank);
  MPI_Query_thread(&level_);
  note_ = std::string("MPI provides ") + thread_level_name(level_) + ".";
  Result<ProxyCores> cores =
      choose_proxy_cores(comm_.get(), options_.workers, options_.proxies, options_.core);
  OB_RETURN_IF_ERROR(agree_on(comm_, cores.status()));
  cores_ = *std::move(cores);
  note_ += " " + cores_.note;
  OB_RETURN_IF_ERROR(agree_on(comm_, start_proxies()));
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalize_hook, &key_, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key_, this);
  return {};
}

Status Runtime::start_proxies() {
  if (has_thread(options_.mode) && !thread_permitted())
    return Status(Code::unsupported,
                  std::string("mode ") + to_string(options_.mode) + " (MPI provides " +
                      thread_level_name(level_) +
                      ") initialise MPI with MPI_Init_thread and MPI_THREAD_MULTIPLE");
  if (options_.proxies > 1 && level_ < MPI_THREAD_MULTIPLE)
    return Status(Code::unsupported,
                  std::to_string(options_.proxies) + " proxies (MPI provides " +
                      thread_level_name(level_) +
                      ", and they call MPI at the same time) initialise MPI with MPI_Init_thread "
                      "and MPI_THREAD_MULTIPLE, or use one proxy");
  bool wanted = has_thread(options_.mode);
  // The choice is collective at a point where other plans may be with the proxy.
  if (options_.mode == Mode::automatic) wanted = level_ == MPI_THREAD_MULTIPLE;
  if (!wanted) return {};
  for (int i = 0; i < options_.proxies; ++i) {
    const bool shares = options_.mode == Mode::shared || cores_.cores.empty();
    OB_ASSIGN_OR_RETURN(
        auto proxy, Proxy::start(i, shares ? -1 : cores_.cores[std::size_t(i)], timeline_.trace()));
    proxies_.push_back(std::move(proxy));
  }
  return {};
}

std::vector<Mode> Runtime::candidates() const {
  if (options_.mode != Mode::automatic) return {options_.mode};
  std::vector<Mode> modes{Mode::sync, Mode::async, Mode::ticked};
  if (!proxies_.empty()) modes.push_back(proxies_.front()->own_core() ? Mode::proxy : Mode::shared);
  return modes;
}

void Runtime::on_finalize() {
  if (leaving_) return;
  key_ = MPI_KEYVAL_INVALID;
  std::fprintf(stderr,
               "outboard: rank %d: MPI_Finalize before ob_overlap_detach (a mistake of the "
               "program), detach first\n",
               rank_);
  proxies_.clear();
}

Runtime::~Runtime() {
  if (key_ != MPI_KEYVAL_INVALID) {
    for (const auto& plan : plans_) (void)settle(*plan);
    proxies_.clear();
    leaving_ = true;  // deleting the attribute calls the hook, too
    MPI_Comm_delete_attr(MPI_COMM_SELF, key_);
    MPI_Comm_free_keyval(&key_);
  }
  // MPI still writes to the memory of a run that is stuck, so it is not given back.
  for (auto& plan : plans_)
    if (!plan->over()) (void)plan.release();
  plans_.clear();
}

}  // namespace ob::overlap
