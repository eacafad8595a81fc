#include "pool/http_exchange.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace ob::pool {
namespace {

using transport::Clock;

constexpr std::string_view kEndOfHeader = "\r\n\r\n";
constexpr int kNoContent = 204;  // has no body and no length

Status malformed(const std::string& why) {
  return {Code::protocol_error,
          "the answer is no HTTP that this side reads (" + why + "); is it a manager of Outboard?"};
}

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_letter(char c) noexcept { return lower(c) >= 'a' && lower(c) <= 'z'; }

// A token (RFC 9110, 5.6.2).
bool is_token(std::string_view text) noexcept {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_digit(c) || is_letter(c) || kOthers.find(c) != std::string_view::npos;
  });
}

std::string_view trimmed(std::string_view text) noexcept {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool has_control(std::string_view text) noexcept {
  return std::ranges::any_of(text, [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
  });
}

Status send_all(transport::Stream& stream, std::string_view text, transport::Deadline deadline) {
  while (!text.empty()) {
    const iovec part{const_cast<char*>(text.data()), text.size()};
    OB_ASSIGN_OR_RETURN(const std::size_t sent, stream.try_send({&part, 1}));
    text.remove_prefix(sent);
    if (sent == 0) OB_RETURN_IF_ERROR(stream.wait(false, true, deadline));
    if (Clock::now() >= deadline) return {Code::deadline_exceeded, "the request took too long"};
  }
  return {};
}

std::string text_of(const HttpRequest& request) {
  std::string text = request.method + " " + request.target + " HTTP/1.1\r\nhost: " + request.host +
                     "\r\naccept: application/json\r\n";
  if (!request.body.empty()) text += "content-type: application/json\r\n";
  return text + "content-length: " + std::to_string(request.body.size()) + "\r\n\r\n" +
         request.body;
}

}  // namespace

Status HttpResponseReader::read_status_line(std::string_view line) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  if (!line.starts_with(kVersion)) return malformed("it does not begin with HTTP/1.1");
  line.remove_prefix(kVersion.size());
  const bool has_number = line.size() >= 3 && std::all_of(line.begin(), line.begin() + 3, is_digit);
  if (!has_number || (line.size() > 3 && line[3] != ' ')) return malformed("it has no status");
  std::from_chars(line.data(), line.data() + 3, response_.status);
  if (response_.status < 200 || response_.status > 599) {
    return malformed("status " + std::to_string(response_.status));
  }
  return {};
}

Status HttpResponseReader::read_length(std::string_view value) {
  std::size_t number = 0;
  const char* const end = value.data() + value.size();
  const bool digits = !value.empty() && std::ranges::all_of(value, is_digit);
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (!digits || error != std::errc() || stop != end) return malformed("its length is no number");
  if (body_bytes_) return malformed("it has two lengths");
  if (number > kMostHttpBytes) return malformed("its body is too long");
  body_bytes_ = number;
  return {};
}

Status HttpResponseReader::read_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    return malformed("a line of its header has no name");
  }
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (has_control(value)) return malformed("its header has control characters");
  if (same_name(name, "content-length")) return read_length(value);
  if (same_name(name, "transfer-encoding")) return malformed("its body is encoded");
  if (same_name(name, "connection") && same_name(value, "close")) response_.closes = true;
  return {};
}

// @pre unread_ begins with a whole header, up to looked_
Status HttpResponseReader::read_header() {
  std::string_view left = std::string_view(unread_).substr(0, looked_);
  for (bool first = true; !left.empty(); first = false) {
    const std::size_t end = left.find("\r\n");
    const std::string_view line = left.substr(0, end);
    OB_RETURN_IF_ERROR(first ? read_status_line(line) : read_field(line));
    left.remove_prefix(end + 2);
  }
  if (response_.status == kNoContent && !body_bytes_) body_bytes_ = 0;
  if (!body_bytes_) return malformed("its length is missing");
  if (response_.status == kNoContent && *body_bytes_ != 0) return malformed("204 with a body");
  return {};
}

Result<std::optional<HttpResponse>> HttpResponseReader::take(std::string_view bytes) {
  unread_ += bytes;
  if (!in_body_) {
    const std::size_t end = unread_.find(kEndOfHeader, looked_);
    const std::size_t header_bytes = end == std::string::npos ? unread_.size() : end;
    if (header_bytes > kMostHttpBytes) return malformed("its header is too long");
    if (end == std::string::npos) {
      looked_ = unread_.size() - std::min(unread_.size(), kEndOfHeader.size() - 1);
      return std::optional<HttpResponse>();
    }
    looked_ = end + 2;
    OB_RETURN_IF_ERROR(read_header());
    unread_.erase(0, end + kEndOfHeader.size());
    in_body_ = true;
  }
  if (unread_.size() > *body_bytes_) return malformed("bytes follow it");
  if (unread_.size() < *body_bytes_) return std::optional<HttpResponse>();
  response_.body = std::move(unread_);
  return std::optional<HttpResponse>(std::move(response_));
}

Result<HttpResponse> exchange(transport::Stream& stream, const HttpRequest& request,
                              transport::Deadline deadline) {
  OB_RETURN_IF_ERROR(send_all(stream, text_of(request), deadline));
  HttpResponseReader reader;
  std::array<char, 16 << 10> bytes;
  for (;;) {
    const iovec part{bytes.data(), bytes.size()};
    OB_ASSIGN_OR_RETURN(const std::size_t received, stream.try_receive({&part, 1}));
    OB_ASSIGN_OR_RETURN(auto response, reader.take({bytes.data(), received}));
    if (response) return std::move(*response);
    // A wait does not see the deadline while bytes arrive.
    if (Clock::now() >= deadline) {
      return Status(Code::deadline_exceeded, stream.peer() + " did not answer in time");
    }
    if (received == 0) OB_RETURN_IF_ERROR(stream.wait(true, false, deadline));
  }
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-._~";
  std::string encoded;
  for (const char c : text) {
    if (is_digit(c) || is_letter(c) || kPlain.find(c) != std::string_view::npos) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return encoded;
}

}  // namespace ob::pool
