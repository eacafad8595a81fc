#include "transport/ucx/worker.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "base/contract.hpp"
#include "transport/ucx/blocked_signals.hpp"

namespace ob::transport::ucx {
namespace {

// A closing endpoint gets this many progress calls to notify its peer, which also sees the end of
// the control stream.
constexpr int kClosingTurns = 100;

// UCX has state for the whole process, including a thread that a forked child lacks. It starts
// afresh only if there was no worker at the fork.
std::atomic<int> live_workers{0};
std::atomic<pid_t> home{0};

Status claim_process() {
  const pid_t here = ::getpid();
  if (home.load() != here && live_workers.load() != 0) {
    return {Code::unsupported,
            "a forked child cannot use UCX (its parent was using it) write HOST:PORT for TCP"};
  }
  home.store(here);
  live_workers.fetch_add(1);
  return {};
}

bool set_by_user(const char* name) { return std::getenv(name) != nullptr; }

std::span<const std::byte> bytes(const void* data, std::size_t size_bytes) {
  return {static_cast<const std::byte*>(data), size_bytes};
}

void finish(Operation& operation, ucs_status_t status) noexcept {
  operation.failed = status != UCS_OK;
  operation.done = true;
}

ucp_request_param_t notifying(Operation& operation) noexcept {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.user_data = &operation;
  return param;
}

void sent(void* request, ucs_status_t status, void* user_data) {
  finish(*static_cast<Operation*>(user_data), status);
  (*library())->ucp_request_free(request);
}

}  // namespace

Worker::Worker(const Library& ucx, MessageSink& sink) : ucx_(&ucx) {
  routes_[0] = {&sink, MessageKind::data};
  routes_[1] = {&sink, MessageKind::credit};
}

Worker::~Worker() {
  if (endpoint_ != nullptr) close_endpoint();
  if (worker_ != nullptr) ucx_->ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucx_->ucp_cleanup(context_);
  live_workers.fetch_sub(1);
}

Result<std::unique_ptr<Worker>> Worker::create(bool this_machine_only, MessageSink& sink) {
  OB_ASSIGN_OR_RETURN(const Library* const ucx, library());
  OB_RETURN_IF_ERROR(claim_process());
  const BlockedSignals blocked;  // UCX starts a thread
  std::unique_ptr<Worker> worker(new Worker(*ucx, sink));
  OB_RETURN_IF_ERROR(worker->open(this_machine_only));
  OB_RETURN_IF_ERROR(worker->set_routes());
  return worker;
}

Status Worker::open(bool this_machine_only) {
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucx_->ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return failure_of("read UCX's settings", status);
  // UCX's own ports do not authenticate anybody. If both ends are on one machine, the ports are not
  // open to other machines.
  if (this_machine_only && !set_by_user("UCX_NET_DEVICES"))
    (void)ucx_->ucp_config_modify(config, "NET_DEVICES", "lo");
  // UCX cannot detect the death of a peer behind shared memory, and so would not use it.
  if (!set_by_user("UCX_TLS")) (void)ucx_->ucp_config_modify(config, "TLS", "^shm");
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  status = ucx_->ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context_);
  ucx_->ucp_config_release(config);
  if (status != UCS_OK) return failure_of("start UCX", status);
  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_FLAGS;
  worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  worker.flags =
      UCP_WORKER_FLAG_IGNORE_REQUEST_LEAK;  // requests of a dead peer are freed with the worker
  status = ucx_->ucp_worker_create(context_, &worker, &worker_);
  if (status != UCS_OK) return failure_of("start a UCX worker", status);
  status = ucx_->ucp_worker_get_efd(worker_, &descriptor_);
  return status == UCS_OK ? Status() : failure_of("wait for UCX", status);
}

Status Worker::set_routes() {
  for (Route& route : routes_) {
    ucp_am_handler_param_t param{};
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id = static_cast<unsigned>(route.kind);
    param.arg = &route;
    param.cb = [](void* arg, const void* header, std::size_t header_bytes, void* data,
                  std::size_t size_bytes, const ucp_am_recv_param_t* received) {
      const Route& to = *static_cast<const Route*>(arg);
      if ((received->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
        to.sink->arrived(to.kind, bytes(header, header_bytes), bytes(data, size_bytes));
        return UCS_OK;
      }
      const bool wanted = to.kind == MessageKind::data &&
                          to.sink->announced(bytes(header, header_bytes), {data, size_bytes});
      return wanted ? UCS_INPROGRESS : UCS_OK;
    };
    const ucs_status_t status = ucx_->ucp_worker_set_am_recv_handler(worker_, &param);
    if (status != UCS_OK) return failure_of("receive through UCX", status);
  }
  return {};
}

Result<std::vector<std::byte>> Worker::address() const {
  ucp_address_t* address = nullptr;
  std::size_t size_bytes = 0;
  const ucs_status_t status = ucx_->ucp_worker_get_address(worker_, &address, &size_bytes);
  if (status != UCS_OK) return failure_of("learn UCX's address", status);
  const auto all = bytes(address, size_bytes);
  std::vector<std::byte> copy(all.begin(), all.end());
  ucx_->ucp_worker_release_address(worker_, address);
  return copy;
}

Status Worker::connect(std::span<const std::byte> address) {
  OB_EXPECT(!connected());
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  // Without an error handler UCX aborts the process when the peer is gone.
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.arg = this;
  params.err_handler.cb = [](void* arg, ucp_ep_h, ucs_status_t status) {
    Worker& worker = *static_cast<Worker*>(arg);
    worker.failure_ = worker.ucx_->ucs_status_string(status);
  };
  const BlockedSignals blocked;
  const ucs_status_t status = ucx_->ucp_ep_create(worker_, &params, &endpoint_);
  if (status != UCS_OK) {
    endpoint_ = nullptr;
    return failure_of("reach the peer through UCX", status);
  }
  ucp_request_param_t param = notifying(set_up_);
  param.cb.send = sent;
  started(ucx_->ucp_ep_flush_nbx(endpoint_, &param), set_up_);
  return {};
}

void Worker::close_endpoint() noexcept {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  const ucs_status_ptr_t request = ucx_->ucp_ep_close_nbx(endpoint_, &param);
  endpoint_ = nullptr;
  if (!UCS_PTR_IS_PTR(request)) return;
  for (int i = 0; i < kClosingTurns && ucx_->ucp_request_check_status(request) == UCS_INPROGRESS;
       ++i) {
    (void)progress();
  }
  ucx_->ucp_request_free(request);
}

void Worker::started(ucs_status_ptr_t request, Operation& operation) noexcept {
  if (!UCS_PTR_IS_PTR(request)) finish(operation, UCS_PTR_RAW_STATUS(request));
}

void Worker::send(MessageKind kind, std::span<const std::byte> header,
                  std::span<const std::byte> data, Operation& operation) {
  ucp_request_param_t param = notifying(operation);
  param.cb.send = sent;
  started(ucx_->ucp_am_send_nbx(endpoint_, static_cast<unsigned>(kind), header.data(),
                                header.size(), data.data(), data.size(), &param),
          operation);
}

void Worker::fetch(Announced data, std::byte* to, Operation& operation) {
  ucp_request_param_t param = notifying(operation);
  param.cb.recv_am = [](void* request, ucs_status_t status, std::size_t, void* user_data) {
    sent(request, status, user_data);
  };
  started(ucx_->ucp_am_recv_data_nbx(worker_, data.handle, to, data.size_bytes, &param), operation);
}

Status Worker::failure_of(const char* what, ucs_status_t status) const {
  const Code code = status == UCS_ERR_NO_MEMORY || status == UCS_ERR_EXCEEDS_LIMIT
                        ? Code::out_of_memory
                        : Code::unavailable;
  return {code,
          std::string("cannot ") + what + " (" + ucx_->text(status) + ") write HOST:PORT for TCP"};
}

}  // namespace ob::transport::ucx
