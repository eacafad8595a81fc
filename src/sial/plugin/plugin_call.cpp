#include "sial/plugin/plugin_call.hpp"

#include <algorithm>
#include <cstdio>
#include <list>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/aligned_memory.hpp"
#include "sial/builtins/arguments.hpp"

namespace ob::sial {
namespace {

constexpr std::int32_t kKinds[] = {OB_SIAL_BLOCK, OB_SIAL_SCALAR, OB_SIAL_INT, OB_SIAL_TEXT};

// The worker's side of a call.
struct Host {
  const Job& job;
  const CallContext& context;
  std::string failure;
  std::vector<std::shared_ptr<std::byte>> memory;
  std::list<std::string> texts;  // a list, because pointers to them stay valid

  void* allocate(std::size_t bytes) {
    auto allocated = aligned_memory(std::max<std::size_t>(bytes, 1));
    return allocated.ok() ? memory.emplace_back(std::move(*allocated)).get() : nullptr;
  }
};

Host& host_of(ob_sial_call* call) { return *static_cast<Host*>(call->host); }

void keep_failure(ob_sial_call* call, const char* message) {
  host_of(call).failure = message == nullptr ? "" : message;
}

void print_text(ob_sial_call* call, const char* text) {
  const CallContext& context = host_of(call).context;
  if (context.print && text != nullptr) context.print(std::string(text) + "\n");
}

// Names of jobs are folded to lower case.
std::string folded(const char* name) {
  std::string text = name == nullptr ? "" : name;
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return text;
}

template <class Map, class Value>
int find_value(const Map& map, const char* name, Value* value) {
  const auto found = map.find(folded(name));
  if (found == map.end()) return 1;
  *value = found->second;
  return 0;
}

int find_int(ob_sial_call* call, const char* name, std::int64_t* value) {
  return find_value(host_of(call).job.ints, name, value);
}

int find_scalar(ob_sial_call* call, const char* name, double* value) {
  return find_value(host_of(call).job.scalars, name, value);
}

int find_array(ob_sial_call* call, const char* name, ob_sial_argument* array) {
  const auto& arrays = host_of(call).job.arrays;
  const auto found = arrays.find(folded(name));
  if (found == arrays.end() || found->second.shape.size() > OB_SIAL_RANK) return 1;
  *array = {};
  array->intent = 'r';
  array->rank = static_cast<std::int32_t>(found->second.shape.size());
  array->elements = static_cast<std::int64_t>(found->second.data.size());
  // The function promises not to write.
  array->data = const_cast<double*>(found->second.data.data());
  array->name = found->first.c_str();
  std::int64_t stride = 1;
  for (std::int32_t d = 0; d < array->rank; ++d) {
    array->extents[d] = found->second.shape[static_cast<std::size_t>(d)];
    array->strides[d] = stride;
    array->first[d] = 1;
    stride *= array->extents[d];
  }
  return 0;
}

std::string config_text(const ConfigValue& value) {
  return std::visit(
      [](const auto& one) -> std::string {
        using One = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<One, std::string>) return one;
        if constexpr (std::is_same_v<One, bool>) return one ? "true" : "false";
        if constexpr (std::is_same_v<One, std::int64_t>) return std::to_string(one);
        if constexpr (std::is_same_v<One, double>) {
          char text[32];
          std::snprintf(text, sizeof text, "%.17g", one);
          return text;
        }
      },
      value);
}

const char* find_key(ob_sial_call* call, const char* key) {
  Host& host = host_of(call);
  const auto table = host.job.config.find(host.context.program);
  if (table == host.job.config.end()) return nullptr;
  const auto found = table->second.find(key == nullptr ? "" : key);
  if (found == table->second.end()) return nullptr;
  return host.texts.emplace_back(config_text(found->second)).c_str();
}

void* give_scratch(ob_sial_call* call, std::size_t bytes) { return host_of(call).allocate(bytes); }

bool is_dense(const View& view) noexcept {
  std::int64_t stride = 1;
  for (unsigned d = 0; d < view.rank; ++d) {
    if (view.extents[d] != 1 && view.strides[d] != stride) return false;
    stride *= view.extents[d];
  }
  return true;
}

View dense_view_of(const View& view, double* data) {
  View dense = view;
  dense.data = data;
  std::int64_t stride = 1;
  for (unsigned d = 0; d < view.rank; ++d) {
    dense.strides[d] = stride;
    stride *= view.extents[d];
  }
  return dense;
}

void copy_elements(const View& from, double* to) {
  for_each_element(from, [&](const auto&, double element) { *to++ = element; });
}

void copy_back(const double* from, const View& to) {
  for_each_element(to, [&](const auto&, double& element) { element = *from++; });
}

ob_sial_argument argument_of(const CallArgument& argument, const View& view) {
  ob_sial_argument made{};
  made.kind = kKinds[static_cast<std::size_t>(argument.kind)];
  made.intent = argument.intent;
  made.scalar = argument.scalar;
  made.integer = argument.integer;
  made.text = argument.text.c_str();
  made.name = argument.name.c_str();
  if (argument.kind != ArgumentKind::block) return made;
  made.rank = static_cast<std::int32_t>(view.rank);
  made.data = view.data;
  made.elements = view.elements();
  for (unsigned d = 0; d < view.rank; ++d) {
    made.extents[d] = view.extents[d];
    made.strides[d] = view.strides[d];
    made.segments[d] = argument.segments[d];
    made.first[d] = argument.first_elements[d];
  }
  return made;
}

ob_sial_call call_of(Host& host) {
  ob_sial_call call{};
  call.version = OB_SIAL_VERSION;
  call.worker = host.context.rank;
  call.workers = host.context.workers;
  call.line = host.context.line;
  call.program = host.context.program.c_str();
  call.host = &host;
  call.fail = keep_failure;
  call.print = print_text;
  call.find_int = find_int;
  call.find_scalar = find_scalar;
  call.find_array = find_array;
  call.find_key = find_key;
  call.scratch = give_scratch;
  return call;
}

}  // namespace

Status call_plugin(const PluginFunction& plugin, const Job& job, CallContext& context,
                   std::span<CallArgument> arguments) {
  Host host{job, context, {}, {}, {}};
  std::vector<ob_sial_argument> passed;
  std::vector<double*> copies(arguments.size());  // nullptr: the function gets the block itself
  for (const CallArgument& argument : arguments) {
    View view = argument.view;
    const bool dense =
        argument.kind == ArgumentKind::block && (plugin.flags & OB_SIAL_TAKES_STRIDES) == 0;
    if (dense && is_dense(view)) {
      view = dense_view_of(view, view.data);  // strides of extents of 1 may be others
    } else if (dense) {
      const auto bytes = static_cast<std::size_t>(view.elements()) * sizeof(double);
      auto* const data = static_cast<double*>(host.allocate(bytes));
      if (data == nullptr) return {Code::out_of_memory, "there is no memory for a copy of a block"};
      copy_elements(view, data);
      view = dense_view_of(view, data);
    }
    if (view.data != argument.view.data) copies[passed.size()] = view.data;
    passed.push_back(argument_of(argument, view));
  }
  ob_sial_call call = call_of(host);
  const int status =
      plugin.function(&call, passed.data(), static_cast<std::int32_t>(passed.size()));
  if (status != 0 || !host.failure.empty()) {
    const std::string nothing = "returned " + std::to_string(status) + " without a message";
    return {Code::invalid_argument, host.failure.empty() ? nothing : host.failure};
  }
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (copies[i] != nullptr && arguments[i].intent != 'r') copy_back(copies[i], arguments[i].view);
  }
  return {};
}

}  // namespace ob::sial
