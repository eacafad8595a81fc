// Embeds Python into a worker. python/outboard/sial_plugin_host.py has the part of the work that is
// easier in Python: it imports modules, calls functions and describes exceptions.

#include "sial/plugin/python/python_host.h"

#include <dlfcn.h>
#include <pybind11/embed.h>

#include <filesystem>
#include <string>
#include <vector>

namespace py = pybind11;

namespace {

// Things that live as long as the process. They are never destroyed: the interpreter does not end,
// because modules may leave threads behind.
struct Interpreter {
  py::object load;       // of sial_plugin_host.py
  py::object call;       // of it
  py::object as_array;   // numpy.asarray
  py::object find_lost;  // gc.collect
};
Interpreter* interpreter = nullptr;
std::string message;

const char* said(std::string text) {
  message = std::move(text);
  return message.c_str();
}

// A call as Python sees it. It outlives the call if somebody keeps it, and refuses to work then.
class PythonCall {
 public:
  explicit PythonCall(ob_sial_call* call) noexcept : call_(call) {}

  ob_sial_call* get() const {
    if (call_ == nullptr) throw std::runtime_error("the call has returned; its context is void");
    return call_;
  }
  void end() noexcept {
    call_ = nullptr;
    lent_.clear();
  }

  // Returns an array of NumPy on memory of the worker, whose end the call watches.
  py::object lend(const ob_sial_argument& argument, bool read_only) {
    const std::vector<py::ssize_t> shape(argument.extents, argument.extents + argument.rank);
    std::vector<py::ssize_t> strides(argument.strides, argument.strides + argument.rank);
    for (py::ssize_t& stride : strides) stride *= static_cast<py::ssize_t>(sizeof(double));
    return lend(py::memoryview::from_buffer(argument.data, shape, strides, read_only));
  }
  template <class Number>
  py::object lend_number(Number* number) {
    const std::vector<py::ssize_t> none;
    return lend(py::memoryview::from_buffer(number, none, none, false));
  }

  // Returns true if an array is in use after the call.
  bool is_kept() {
    const auto kept = [this] {
      for (const py::object& one : lent_) {
        if (one.ref_count() > 1) return true;
      }
      return false;
    };
    if (!kept()) return false;
    interpreter->find_lost();  // objects that refer to each other may hold it, and nobody them
    return kept();
  }

 private:
  py::object lend(const py::memoryview& view) {
    return lent_.emplace_back(interpreter->as_array(view));
  }

  ob_sial_call* call_;
  std::vector<py::object> lent_;
};

py::object job_int(PythonCall& self, const std::string& name) {
  std::int64_t value = 0;
  if (self.get()->find_int(self.get(), name.c_str(), &value) != 0) return py::none();
  return py::int_(value);
}

py::object job_scalar(PythonCall& self, const std::string& name) {
  double value = 0;
  if (self.get()->find_scalar(self.get(), name.c_str(), &value) != 0) return py::none();
  return py::float_(value);
}

py::object job_array(PythonCall& self, const std::string& name) {
  ob_sial_argument array{};
  if (self.get()->find_array(self.get(), name.c_str(), &array) != 0) return py::none();
  return self.lend(array, true);
}

py::object job_key(PythonCall& self, const std::string& key) {
  const char* const text = self.get()->find_key(self.get(), key.c_str());
  return text == nullptr ? py::object(py::none()) : py::object(py::str(text));
}

void print_line(PythonCall& self, const std::string& text) {
  self.get()->print(self.get(), text.c_str());
}

py::object value_of(PythonCall& call, const ob_sial_argument& argument) {
  const bool read_only = argument.intent == 'r';
  switch (argument.kind) {
    case OB_SIAL_BLOCK: return call.lend(argument, read_only);
    case OB_SIAL_SCALAR:
      if (read_only) return py::float_(*argument.scalar);
      return call.lend_number(argument.scalar);
    case OB_SIAL_INT:
      if (read_only) return py::int_(*argument.integer);
      return call.lend_number(argument.integer);
    case OB_SIAL_TEXT: return py::str(argument.text);
    default: throw std::runtime_error("an argument has an unknown kind");
  }
}

py::tuple numbers(const std::int64_t* first, std::int32_t count) {
  py::tuple made(count);
  for (std::int32_t d = 0; d < count; ++d) made[static_cast<std::size_t>(d)] = first[d];
  return made;
}

// Returns a tuple per argument: value, intent, name, segments, numbers of the first element.
py::list arguments_of(PythonCall& call, const ob_sial_argument* arguments, std::int32_t count) {
  py::list made;
  for (std::int32_t i = 0; i < count; ++i) {
    const ob_sial_argument& one = arguments[i];
    made.append(py::make_tuple(value_of(call, one), std::string(1, one.intent), one.name,
                               numbers(one.segments, one.rank), numbers(one.first, one.rank)));
  }
  return made;
}

// Python's own libraries take its symbols from the process, so they must be global.
void make_symbols_global() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&Py_IsInitialized), &info) != 0) {
    dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  }
}

// Makes Python find the modules that belong to this library, also if the environment has no
// Outboard or another version of it.
void find_modules() {
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(&ob_sial_python), &info);
  const std::filesystem::path here = std::filesystem::canonical(info.dli_fname).parent_path();
  const std::filesystem::path folder = here.parent_path() / "share" / "outboard" / "python";
  py::module_::import("sys").attr("path").attr("append")(folder.string());
  const py::module_ package = py::module_::import("outboard");
  package.attr("__path__").attr("insert")(0, (folder / "outboard").string());
}

void set_up() {
  auto* const made = new Interpreter;
  // Ranks share the cores of a node. NumPy's own library would start a thread per core in each.
  py::module_::import("os").attr("environ").attr("setdefault")("OPENBLAS_NUM_THREADS", "1");
  made->as_array = py::module_::import("numpy").attr("asarray");
  made->find_lost = py::module_::import("gc").attr("collect");
  find_modules();
  const py::module_ host = py::module_::import("outboard.sial_plugin_host");
  made->load = host.attr("load");
  made->call = host.attr("call");
  py::module_ main = py::module_::import("__main__");
  py::class_<PythonCall>(main, "_Call", py::module_local())
      .def_property_readonly("worker", [](PythonCall& self) { return self.get()->worker; })
      .def_property_readonly("workers", [](PythonCall& self) { return self.get()->workers; })
      .def_property_readonly("line", [](PythonCall& self) { return self.get()->line; })
      .def_property_readonly("program", [](PythonCall& self) { return self.get()->program; })
      .def("find_int", job_int)
      .def("find_scalar", job_scalar)
      .def("find_array", job_array)
      .def("find_key", job_key)
      .def("print", print_line);
  interpreter = made;
}

PyStatus initialize(const char* executable) {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.parse_argv = 0;
  config.install_signal_handlers = 0;  // a signal ends the worker, as without Python
  config.buffered_stdio = 0;           // the interpreter never ends, so nobody would flush
  PyStatus status = PyStatus_Ok();
  if (executable[0] != '\0') {
    status = PyConfig_SetBytesString(&config, &config.executable, executable);
  }
  if (PyStatus_Exception(status) == 0) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  return status;
}

const char* start(const char* executable) {
  make_symbols_global();
  const PyStatus status = initialize(executable);
  if (PyStatus_Exception(status) != 0) {
    return said(std::string("Python " PY_VERSION " does not start (") +
                (status.err_msg == nullptr ? "no reason given" : status.err_msg) + ")");
  }
  const char* problem = nullptr;
  try {
    set_up();
  } catch (const std::exception& error) {
    problem = said(error.what());
  }
  PyEval_SaveThread();  // calls come from other threads
  return problem;
}

const char* load(const char* file, void* to, void (*add)(void*, const ob_sial_python_entry*)) {
  const py::gil_scoped_acquire lock;
  try {
    const py::object loaded = interpreter->load(file);
    if (py::isinstance<py::str>(loaded)) return said(py::cast<std::string>(loaded));
    for (const py::handle& one : loaded) {
      const auto [name, intents, flags, function] =
          py::cast<std::tuple<std::string, std::string, std::uint32_t, py::object>>(one);
      // The reference is never given back: the worker has the function until the process ends.
      const ob_sial_python_entry entry = {name.c_str(), intents.c_str(), flags,
                                          function.inc_ref().ptr()};
      add(to, &entry);
    }
    return nullptr;
  } catch (const std::exception& error) {
    return said(error.what());
  }
}

// Returns a message, empty if there is nothing to be said.
std::string run(const py::handle& function, const py::object& held,
                const ob_sial_argument* arguments, std::int32_t count) {
  const py::object failure =
      interpreter->call(function, held, arguments_of(held.cast<PythonCall&>(), arguments, count));
  return failure.is_none() ? std::string() : py::cast<std::string>(failure);
}

int call_function(void* function, ob_sial_call* call, ob_sial_argument* arguments,
                  std::int32_t count) {
  const py::gil_scoped_acquire lock;
  std::string failure;
  try {
    const py::object held = py::cast(PythonCall(call));
    auto& context = held.cast<PythonCall&>();
    failure = run(py::handle(static_cast<PyObject*>(function)), held, arguments, count);
    if (failure.empty() && context.is_kept()) {
      failure =
          "the function keeps an array after it has returned (its memory belongs to the worker); "
          "keep a copy, numpy.array(x)";
    }
    context.end();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (failure.empty()) return 0;
  call->fail(call, failure.c_str());
  return 1;
}

}  // namespace

extern "C" const ob_sial_python_host* ob_sial_python(void) {
  static constexpr ob_sial_python_host host = {OB_SIAL_PYTHON_VERSION, start, load, call_function};
  return &host;
}
