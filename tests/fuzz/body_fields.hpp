#pragma once
// The places of the fields of a body, from its field list (wire/message_fields.hpp).

#include <cstddef>
#include <vector>

#include "wire/message_fields.hpp"

namespace ob::fuzz {

struct BodyField {
  std::size_t offset;
  std::size_t bytes;
};

/// Collects the fields up to the first text; fields behind a text have no fixed place.
class BodyFields {
 public:
  template <class Message>
  static std::vector<BodyField> of() {
    BodyFields all;
    all.add_list<Message>();
    return std::move(all.fields_);
  }

 private:
  template <class Type>
  void add_list() {
    wire::for_each_field<Type>(
        [this](const auto& element) {
          add(element);
          return !ended_;
        },
        wire::FieldIndices<Type>());
  }
  template <class Type, class Value>
  void add(const wire::Number<Type, Value>&) {
    append(sizeof(Value));
  }
  template <class Type, class Value>
  void add(const wire::UpTo<Type, Value>&) {
    append(1);
  }
  template <class Type, class Value>
  void add(const wire::Part<Type, Value>&) {
    add_list<Value>();
  }
  template <class Type>
  void add(const wire::VersionStart<Type>&) {
    append(sizeof wire::kMagic);
    append(sizeof wire::kVersion);
  }
  template <class Type>
  void add(const wire::Text<Type>&) {
    append(sizeof(std::uint32_t));  // the length of the text
    ended_ = true;
  }
  template <class Type, class Value>
  void add(const wire::List<Type, Value>&) {
    append(sizeof(std::uint32_t));  // the length of the list
    ended_ = true;
  }
  template <class Type>
  void add(const wire::Check<Type>&) {}
  template <class Type>
  void add(const wire::Since<Type>&) {}
  void add(const wire::Reserved& reserved) { append(static_cast<std::size_t>(reserved.bytes)); }
  void add(const wire::Padding&) { append((8 - at_ % 8) % 8); }

  void append(std::size_t bytes) {
    if (bytes > 0) fields_.push_back({at_, bytes});
    at_ += bytes;
  }

  std::vector<BodyField> fields_;
  std::size_t at_ = 0;
  bool ended_ = false;
};

/// Returns the fields of messages of this opcode; none if the body has no field list.
inline std::vector<BodyField> body_fields(wire::Opcode opcode) {
  std::vector<BodyField> fields;
  wire::for_each_body([&]<class Message>() {
    if (wire::has_body<Message>(opcode)) fields = BodyFields::of<Message>();
  });
  return fields;
}

}  // namespace ob::fuzz
