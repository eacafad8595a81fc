#pragma once
// JSON of the manager's answers, read without exceptions, and written. The library that does it is
// hidden.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace ob::pool {

/// An object of a text. A value that is missing or of another type reads as empty or 0, and
/// status() tells of the first one.
/// Threads: one at a time, with all other objects of the text   Memory: shares the text
class JsonObject {
 public:
  /// Errors: protocol_error if the text is no object
  static Result<JsonObject> parse(std::string_view text);

  std::string text(const char* name) const;
  /// Returns a whole number from 0 to 2^63 - 1.
  std::int64_t number(const char* name) const;
  double real(const char* name) const;
  bool truth(const char* name) const;
  /// Returns `otherwise` if the value is missing, because older managers do not know it.
  bool truth_or(const char* name, bool otherwise) const;
  std::vector<std::string> texts(const char* name) const;
  std::vector<JsonObject> objects(const char* name) const;

  /// Errors: protocol_error if a value of the text was asked for and not found
  Status status() const;

 private:
  struct Document;
  JsonObject(std::shared_ptr<Document> document, const void* value)
      : document_(std::move(document)), value_(value) {}

  const std::shared_ptr<Document> document_;
  const void* const value_;  // in the document
};

/// Writes one object or array, value after value.
class JsonWriter {
 public:
  JsonWriter& object();  ///< begins an object
  JsonWriter& array();   ///< begins an array
  JsonWriter& end();     ///< ends the last one that was begun
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(const char*) = delete;  // would be a truth
  JsonWriter& value(std::uint64_t number);
  JsonWriter& value(double number);  ///< 0 if it is not finite
  JsonWriter& value(bool truth);

  const std::string& text() const noexcept { return text_; }

 private:
  void separate();

  std::string text_;
  std::string closing_;
};

}  // namespace ob::pool
