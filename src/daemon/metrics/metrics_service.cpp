#include "daemon/metrics/metrics_service.hpp"

#include <sys/socket.h>

#include <atomic>
#include <exception>
#include <map>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>

#include "base/fd.hpp"
#include "base/quiet_thread.hpp"
#include "daemon/io/log.hpp"
#include "daemon/metrics/microhttpd.hpp"
#include "transport/address.hpp"
#include "transport/tcp/listener.hpp"
#include "transport/tcp/resolve.hpp"

namespace ob::daemon {
namespace {

using MetricsClock = std::chrono::steady_clock;

// The thread looks so often whether it is to end, and which connections are too old.
constexpr std::int32_t kLookMs = 250;

// The private functions run on the service's thread.
class HttpMetrics final : public MetricsService {
 public:
  HttpMetrics(const Microhttpd& library, std::string url, std::function<std::string()> text)
      : library_(library), url_(std::move(url)), text_(std::move(text)) {}
  ~HttpMetrics() override {
    closing_ = true;
    if (thread_.joinable()) thread_.join();
    if (server_ != nullptr) library_.MHD_stop_daemon(server_);
  }
  HttpMetrics(const HttpMetrics&) = delete;
  HttpMetrics& operator=(const HttpMetrics&) = delete;

  // Takes the socket over if it succeeds.
  Status start(Fd socket) {
    server_ = library_.MHD_start_daemon(
        MHD_USE_EPOLL, 0, nullptr, nullptr, &HttpMetrics::on_request, this,
        MHD_OPTION_LISTEN_SOCKET, socket.get(), MHD_OPTION_CONNECTION_LIMIT, kMostConnections,
        MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(kLongest.count()),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytes, MHD_OPTION_NOTIFY_CONNECTION,
        &HttpMetrics::on_connection, this, MHD_OPTION_END);
    if (server_ == nullptr) {
      return {Code::unavailable,
              "cannot serve metrics (libmicrohttpd does not start) look into "
              "the limits of memory and descriptors"};
    }
    (void)socket.release();
    thread_ = quiet_thread([this] { run(); });
    if (thread_.joinable()) return {};
    return {Code::out_of_memory, "cannot serve metrics (no thread can be started)"};
  }

  std::string url() const override { return url_; }

 private:
  void run() noexcept {
    while (!closing_) {
      if (library_.MHD_run_wait(server_, kLookMs) != MHD_YES) {
        log::warn("the metrics are not served any more (waiting for requests failed)");
        return;
      }
      shut_down_old();
    }
  }

  // The library's own limit counts from the last byte, so a client could stay for ever.
  void shut_down_old() noexcept {
    const auto oldest = MetricsClock::now() - kLongest;
    for (const auto& [fd, since] : open_) {
      if (since < oldest) (void)::shutdown(fd, SHUT_RDWR);
    }
  }

  static void on_connection(void* self, MHD_Connection* connection, void** /*context*/,
                            MHD_ConnectionNotificationCode code) {
    static_cast<HttpMetrics*>(self)->note(connection, code == MHD_CONNECTION_NOTIFY_STARTED);
  }

  void note(MHD_Connection* connection, bool starts) noexcept try {
    const auto* const info =
        library_.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == nullptr) return;
    if (starts) {
      open_[info->connect_fd] = MetricsClock::now();
    } else {
      open_.erase(info->connect_fd);
    }
  } catch (const std::exception&) {  // without memory the connection has the library's limit only
  }

  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* path,
                               const char* method, const char* /*version*/, const char* /*body*/,
                               std::size_t* body_bytes, void** context) {
    auto& service = *static_cast<HttpMetrics*>(self);
    const std::string_view verb(method);
    const bool reads = verb == "GET" || verb == "HEAD";
    if (reads && *context == nullptr) {  // the headers are there, and a body may follow
      *context = self;
      return MHD_YES;
    }
    if (!reads || *body_bytes != 0) return service.answer(connection, 405, "GET it\n");
    if (std::string_view(path) != "/metrics") {
      return service.answer(connection, 404, "the metrics are at /metrics\n");
    }
    return service.answer_metrics(connection);
  }

  MHD_Result answer_metrics(MHD_Connection* connection) noexcept {
    try {
      const auto now = MetricsClock::now();
      if (told_.empty() || now - told_at_ >= kFresh) {
        told_ = text_();
        told_at_ = now;
      }
    } catch (const std::exception&) {  // most likely out of memory
      return answer(connection, 503, "no memory for the metrics\n");
    }
    return answer(connection, 200, told_);
  }

  MHD_Result answer(MHD_Connection* connection, unsigned status, std::string_view text) noexcept {
    MHD_Response* const response = library_.MHD_create_response_from_buffer(
        text.size(), const_cast<char*>(text.data()), MHD_RESPMEM_MUST_COPY);
    if (response == nullptr) return MHD_NO;
    (void)library_.MHD_add_response_header(
        response, MHD_HTTP_HEADER_CONTENT_TYPE,
        status == 200 ? "text/plain; version=0.0.4; charset=utf-8" : "text/plain; charset=utf-8");
    (void)library_.MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    if (status == 405) {
      (void)library_.MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    }
    const MHD_Result queued = library_.MHD_queue_response(connection, status, response);
    library_.MHD_destroy_response(response);
    return queued;
  }

  const Microhttpd library_;
  const std::string url_;
  const std::function<std::string()> text_;
  MHD_Daemon* server_ = nullptr;
  std::atomic<bool> closing_{false};
  std::map<int, MetricsClock::time_point> open_;  // descriptors, and when they were accepted
  std::string told_;
  MetricsClock::time_point told_at_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<MetricsService>> MetricsService::create(const std::string& address,
                                                               std::function<std::string()> text) {
  OB_ASSIGN_OR_RETURN(const transport::Address parsed, transport::parse_address(address));
  const auto* const tcp = std::get_if<transport::TcpAddress>(&parsed);
  if (tcp == nullptr) {
    return Status(Code::invalid_argument, "cannot serve metrics on " + address +
                                              " (Prometheus asks over TCP) write HOST:PORT");
  }
  OB_ASSIGN_OR_RETURN(const Microhttpd library, Microhttpd::open());
  Result<Fd> socket = transport::tcp::listen_socket(*tcp);
  if (!socket.ok()) return socket.status().in("metrics");
  const std::string bound = transport::tcp::text_of(socket->get(), ::getsockname);
  auto service =
      std::make_unique<HttpMetrics>(library, "http://" + bound + "/metrics", std::move(text));
  OB_RETURN_IF_ERROR(service->start(std::move(*socket)));
  return std::unique_ptr<MetricsService>(std::move(service));
}

}  // namespace ob::daemon
