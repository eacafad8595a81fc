// Super-instructions in C++17 (outboard/sial.h). Header only.
//
//     #include <outboard/sial.hpp>
//
//     void shift(outboard::sial::Call& call, outboard::sial::Arguments arguments) {
//       for (double& x : arguments[0].elements()) x += arguments[1].number();
//     }
//     OUTBOARD_SIAL_PLUGIN({"shift", "ur", shift});
//
// An exception ends the program with R08 and its message.
#ifndef OUTBOARD_SIAL_HPP
#define OUTBOARD_SIAL_HPP

#include <outboard/sial.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace outboard::sial {

/// The elements of a dense block in storage order.
struct Elements {
  double* first;
  std::int64_t count;
  double* begin() const noexcept { return first; }
  double* end() const noexcept { return first + count; }
  double& operator[](std::int64_t i) const noexcept { return first[i]; }
};

/// One argument. Members of ob_sial_argument stay visible.
class Argument : public ob_sial_argument {
 public:
  /// Errors: std::invalid_argument if it is no block
  Elements elements() const {
    expect(OB_SIAL_BLOCK, "a block");
    return {data, ob_sial_argument::elements};
  }
  /// Returns an element by its place in the block, from 0.   Errors: as elements()
  template <class... Index>
  double& at(Index... index) const {
    expect(OB_SIAL_BLOCK, "a block");
    if (static_cast<std::int32_t>(sizeof...(index)) != rank) {
      throw std::invalid_argument("the block has rank " + std::to_string(rank));
    }
    const std::int64_t places[] = {static_cast<std::int64_t>(index)..., 0};
    std::int64_t offset = 0;
    for (std::int32_t d = 0; d < rank; ++d) offset += places[d] * strides[d];
    return data[offset];
  }
  /// Returns the value of a scalar, an int or a block with one element.
  /// Errors: std::invalid_argument for others
  double number() const {
    if (kind == OB_SIAL_SCALAR) return *scalar;
    if (kind == OB_SIAL_INT) return static_cast<double>(*integer);
    expect(OB_SIAL_BLOCK, "a number");
    if (ob_sial_argument::elements != 1) throw std::invalid_argument("an argument is no number");
    return data[0];
  }

 private:
  void expect(std::int32_t wanted, const char* what) const {
    if (kind != wanted) throw std::invalid_argument(std::string("an argument is not ") + what);
  }
};
static_assert(sizeof(Argument) == sizeof(ob_sial_argument));

/// The arguments of a call, from 0.
class Arguments {
 public:
  Arguments(ob_sial_argument* first, std::int32_t count) noexcept
      : first_(static_cast<Argument*>(first)), count_(count) {}
  std::int32_t size() const noexcept { return count_; }
  /// Errors: std::out_of_range
  Argument& operator[](std::int32_t i) const {
    if (i < 0 || i >= count_) throw std::out_of_range("there is no such argument");
    return first_[i];
  }

 private:
  Argument* first_;
  std::int32_t count_;
};

/// The surroundings of a call.
class Call {
 public:
  explicit Call(ob_sial_call* call) noexcept : call_(call) {}
  std::uint32_t worker() const noexcept { return call_->worker; }
  std::uint32_t workers() const noexcept { return call_->workers; }
  std::uint32_t line() const noexcept { return call_->line; }
  std::string program() const { return call_->program; }
  void print(const std::string& text) { call_->print(call_, text.c_str()); }
  /// Values of the job file; nothing if it lacks the name.
  std::optional<std::int64_t> find_int(const std::string& name) {
    std::int64_t value = 0;
    if (call_->find_int(call_, name.c_str(), &value) != 0) return std::nullopt;
    return value;
  }
  std::optional<double> find_scalar(const std::string& name) {
    double value = 0;
    if (call_->find_scalar(call_, name.c_str(), &value) != 0) return std::nullopt;
    return value;
  }
  std::optional<Argument> find_array(const std::string& name) {
    Argument array{};
    if (call_->find_array(call_, name.c_str(), &array) != 0) return std::nullopt;
    return array;
  }
  std::optional<std::string> find_key(const std::string& key) {
    const char* const text = call_->find_key(call_, key.c_str());
    if (text == nullptr) return std::nullopt;
    return std::string(text);
  }

 private:
  ob_sial_call* call_;
};

/// A super-instruction of a plug-in.
struct Function {
  const char* name;
  const char* intents;
  void (*function)(Call&, Arguments);
};

namespace detail {

// One C function per entry. An exception must not pass into the worker.
template <const Function* functions, std::size_t number>
int enter(ob_sial_call* call, ob_sial_argument* arguments, std::int32_t count) {
  try {
    Call wrapped(call);
    functions[number].function(wrapped, Arguments(arguments, count));
    return 0;
  } catch (const std::exception& error) {
    call->fail(call, error.what());
  } catch (...) {
    call->fail(call, "an unknown exception");
  }
  return 1;
}

template <const Function* functions, std::size_t... numbers>
struct Table {
  static constexpr ob_sial_entry entries[] = {
      {functions[numbers].name, functions[numbers].intents, enter<functions, numbers>, 0}...};
  static constexpr ob_sial_table table = {OB_SIAL_VERSION, sizeof(ob_sial_entry),
                                          sizeof...(numbers), entries};
};

template <const Function* functions, std::size_t... numbers>
constexpr Table<functions, numbers...> make_table(std::integer_sequence<std::size_t, numbers...>);

template <const Function* functions, std::size_t count>
using TableOf = decltype(make_table<functions>(std::make_index_sequence<count>()));

}  // namespace detail
}  // namespace outboard::sial

/// Exports the super-instructions of a plug-in: {name, intents, function}, ... Use it once.
#define OUTBOARD_SIAL_PLUGIN(...)                                                      \
  static constexpr outboard::sial::Function outboard_sial_functions[] = {__VA_ARGS__}; \
  extern "C" const ob_sial_table* ob_sial_plugin() {                                   \
    constexpr std::size_t count =                                                      \
        sizeof outboard_sial_functions / sizeof outboard_sial_functions[0];            \
    return &outboard::sial::detail::TableOf<outboard_sial_functions, count>::table;    \
  }                                                                                    \
  static_assert(true, "a semicolon follows")

#endif
