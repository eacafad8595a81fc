#pragma once
// The functions of UCX, opened at run time: no part of Outboard needs UCX at load time.

#include <ucp/api/ucp.h>

#include <string>

#include "base/status.hpp"

namespace ob::transport::ucx {

#define OB_UCX_FUNCTIONS(USE)         \
  USE(ucp_get_version_string)         \
  USE(ucp_init_version)               \
  USE(ucp_cleanup)                    \
  USE(ucp_config_read)                \
  USE(ucp_config_modify)              \
  USE(ucp_config_release)             \
  USE(ucp_worker_create)              \
  USE(ucp_worker_destroy)             \
  USE(ucp_worker_get_address)         \
  USE(ucp_worker_release_address)     \
  USE(ucp_worker_get_efd)             \
  USE(ucp_worker_arm)                 \
  USE(ucp_worker_progress)            \
  USE(ucp_worker_set_am_recv_handler) \
  USE(ucp_ep_create)                  \
  USE(ucp_ep_close_nbx)               \
  USE(ucp_ep_flush_nbx)               \
  USE(ucp_am_send_nbx)                \
  USE(ucp_am_recv_data_nbx)           \
  USE(ucp_request_check_status)       \
  USE(ucp_request_free)               \
  USE(ucs_status_string)

struct Library {
#define OB_UCX_POINTER(name) decltype(&::name) name = nullptr;
  OB_UCX_FUNCTIONS(OB_UCX_POINTER)
#undef OB_UCX_POINTER

  std::string version() const { return ucp_get_version_string(); }
  std::string text(ucs_status_t status) const { return ucs_status_string(status); }
};

/// Opens UCX once, without its signal handlers and without its changes to munmap() and similar
/// functions.   Threads: any   Errors: unsupported if it is not installed
Result<const Library*> library();

}  // namespace ob::transport::ucx
