#pragma once
// GNU libmicrohttpd, opened at run time when metrics are served: it brings GnuTLS along, which the
// daemon does not need otherwise.

#include <microhttpd.h>

#include "base/status.hpp"

namespace ob::daemon {

/// The functions that are used here, under the names of the manual.
struct Microhttpd {
#define OB_MICROHTTPD_FUNCTIONS(F)   \
  F(MHD_add_response_header)         \
  F(MHD_create_response_from_buffer) \
  F(MHD_destroy_response)            \
  F(MHD_get_connection_info)         \
  F(MHD_queue_response)              \
  F(MHD_run_wait)                    \
  F(MHD_start_daemon)                \
  F(MHD_stop_daemon)
#define OB_MICROHTTPD_POINTER(function) decltype(&::function) function = nullptr;
  OB_MICROHTTPD_FUNCTIONS(OB_MICROHTTPD_POINTER)
#undef OB_MICROHTTPD_POINTER

  /// Opens the library for good.   Threads: any
  /// Errors: unavailable if it is not installed
  static Result<Microhttpd> open();
};

}  // namespace ob::daemon
