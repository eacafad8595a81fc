#include "pool/json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "pool/parsed_json.hpp"

namespace ob::pool {

struct JsonObject::Document {
  nlohmann::json root;
  Status first;  // failure

  void complain(const char* name, const char* wanted) {
    if (!first.ok()) return;
    first = Status(Code::protocol_error, std::string("the manager's answer has no ") + name + " (" +
                                             wanted + " is expected); are both of one release?");
  }

  // Returns the member if `is_good` takes it, else nullptr.
  template <class Predicate>
  const nlohmann::json* find(const void* object, const char* name, const char* wanted,
                             Predicate is_good) {
    const auto& inside = *static_cast<const nlohmann::json*>(object);
    const auto at = inside.find(name);
    if (at != inside.end() && is_good(*at)) return &*at;
    complain(name, wanted);
    return nullptr;
  }
};

Result<JsonObject> JsonObject::parse(std::string_view text) {
  auto document = std::make_shared<Document>();
  document->root = parsed_json(text);
  if (!document->root.is_object()) {
    return Status(Code::protocol_error, "the manager's answer is no JSON object");
  }
  const void* const root = &document->root;
  return JsonObject(std::move(document), root);
}

Status JsonObject::status() const { return document_->first; }

std::string JsonObject::text(const char* name) const {
  const auto* found =
      document_->find(value_, name, "a text", [](const auto& v) { return v.is_string(); });
  return found == nullptr ? std::string() : found->template get_ref<const std::string&>();
}

std::int64_t JsonObject::number(const char* name) const {
  const auto* found = document_->find(value_, name, "a whole number", [](const auto& v) {
    return v.is_number_unsigned() && v.template get<std::uint64_t>() <= INT64_MAX;
  });
  return found == nullptr ? 0 : found->template get<std::int64_t>();
}

double JsonObject::real(const char* name) const {
  const auto* found =
      document_->find(value_, name, "a number", [](const auto& v) { return v.is_number(); });
  return found == nullptr ? 0 : found->template get<double>();
}

bool JsonObject::truth(const char* name) const {
  const auto* found =
      document_->find(value_, name, "true or false", [](const auto& v) { return v.is_boolean(); });
  return found != nullptr && found->template get<bool>();
}

bool JsonObject::truth_or(const char* name, bool otherwise) const {
  const bool is_there = static_cast<const nlohmann::json*>(value_)->contains(name);
  return is_there ? truth(name) : otherwise;
}

std::vector<std::string> JsonObject::texts(const char* name) const {
  const auto* found =
      document_->find(value_, name, "a list of texts", [](const auto& v) { return v.is_array(); });
  std::vector<std::string> all;
  if (found == nullptr) return all;
  for (const auto& one : *found) {
    if (one.is_string()) {
      all.push_back(one.template get_ref<const std::string&>());
    } else {
      document_->complain(name, "a list of texts");
    }
  }
  return all;
}

std::vector<JsonObject> JsonObject::objects(const char* name) const {
  const auto* found = document_->find(value_, name, "a list of objects",
                                      [](const auto& v) { return v.is_array(); });
  std::vector<JsonObject> all;
  if (found == nullptr) return all;
  for (const auto& one : *found) {
    if (one.is_object()) {
      all.push_back(JsonObject(document_, &one));
    } else {
      document_->complain(name, "a list of objects");
    }
  }
  return all;
}

// --- writing -------------------------------------------------------------------------------------

// A value follows another one, unless a key or the beginning is in front of it.
void JsonWriter::separate() {
  if (!text_.empty() && text_.find_last_of("{[:") != text_.size() - 1) text_ += ',';
}

JsonWriter& JsonWriter::object() {
  separate();
  text_ += '{';
  closing_ += '}';
  return *this;
}

JsonWriter& JsonWriter::array() {
  separate();
  text_ += '[';
  closing_ += ']';
  return *this;
}

JsonWriter& JsonWriter::end() {
  text_ += closing_.back();
  closing_.pop_back();
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  value(name);
  text_ += ':';
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  // Bytes that are no UTF-8 become U+FFFD.
  text_ += nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return *this;
}

JsonWriter& JsonWriter::value(std::uint64_t number) {
  separate();
  text_ += std::to_string(number);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  separate();
  text_ += nlohmann::json(std::isfinite(number) ? number : 0).dump();
  return *this;
}

JsonWriter& JsonWriter::value(bool truth) {
  separate();
  text_ += truth ? "true" : "false";
  return *this;
}

}  // namespace ob::pool
