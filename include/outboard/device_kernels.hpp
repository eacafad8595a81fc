// Kernels of the program for C++17: a part of outboard/device.hpp, which includes it.
#ifndef OUTBOARD_DEVICE_KERNELS_HPP
#define OUTBOARD_DEVICE_KERNELS_HPP

#include <outboard/device.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace outboard {

/// The number of groups, or of the work-items of a group, in up to three dimensions.
struct Extents {
  std::uint32_t x = 1, y = 1, z = 1;
};

/// Parameters of a kernel that are buffers of T: read only, written only, or both.
template <class T>
struct In {};
template <class T>
struct Out {};
template <class T>
struct InOut {};
/// A parameter in local memory of T, whose size the launch chooses.
template <class T>
struct Local {};
/// The argument for it: a number of elements.
struct LocalCount {
  std::uint32_t elements;
};

namespace detail {

template <class T>
ob_argument memory_argument(const MatrixView<T>& view, std::uint32_t access) noexcept {
  ob_argument argument{};
  argument.kind = OB_ARGUMENT_BUFFER;
  argument.as.place = view.place;
  argument.extent_bytes =
      static_cast<std::uint64_t>((view.cols - 1) * view.ld + view.rows) * sizeof(T);
  argument.access = access;
  return argument;
}

// How an argument is passed to a parameter of a kernel: numbers by value.
template <class T>
struct Parameter {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>,
                "a parameter is a number, In<T>, Out<T>, InOut<T> or Local<T>");
  using Argument = T;
  static ob_argument pass(const T& value) noexcept {
    ob_argument argument{};
    argument.kind = OB_ARGUMENT_SCALAR;
    argument.bytes = sizeof value;
    argument.as.value = &value;
    return argument;
  }
};
template <class T>
struct Parameter<In<T>> {
  using Argument = MatrixView<T>;
  static ob_argument pass(const Argument& view) noexcept {
    return memory_argument(view, OB_ACCESS_READ);
  }
};
template <class T>
struct Parameter<Out<T>> {
  using Argument = MatrixView<T>;
  static ob_argument pass(const Argument& view) noexcept {
    return memory_argument(view, OB_ACCESS_WRITE);
  }
};
template <class T>
struct Parameter<InOut<T>> {
  using Argument = MatrixView<T>;
  static ob_argument pass(const Argument& view) noexcept {
    return memory_argument(view, OB_ACCESS_READ | OB_ACCESS_WRITE);
  }
};
template <class T>
struct Parameter<Local<T>> {
  using Argument = LocalCount;
  static ob_argument pass(const Argument& count) noexcept {
    ob_argument argument{};
    argument.kind = OB_ARGUMENT_LOCAL;
    argument.bytes = count.elements * static_cast<std::uint32_t>(sizeof(T));
    return argument;
  }
};

}  // namespace detail

/// A kernel with the types of its parameters, which the library checks against the source.
/// Threads: one at a time
template <class... Parameters>
class Kernel : public Owner<ob_kernel, ob_kernel_destroy> {
 public:
  Kernel(ob_module module, const std::string& name) : Owner(create(module, name)) {}

  /// Hands a launch over.   Throws: Error
  void operator()(const Queue& queue, const Extents& groups, const Extents& group_size,
                  const typename detail::Parameter<Parameters>::Argument&... arguments) const {
    std::uint32_t index = 0;
    (set(index++, detail::Parameter<Parameters>::pass(arguments)), ...);
    const std::uint32_t counts[3] = {groups.x, groups.y, groups.z};
    const std::uint32_t sizes[3] = {group_size.x, group_size.y, group_size.z};
    check(ob_kernel_run(get(), queue.get(), counts, sizes));
  }

 private:
  static ob_kernel create(ob_module module, const std::string& name) {
    ob_kernel kernel = nullptr;
    check(ob_kernel_create(module, name.c_str(), &kernel));
    return kernel;
  }
  void set(std::uint32_t index, const ob_argument& argument) const {
    check(ob_kernel_set(get(), index, &argument));
  }
};

/// A portable source, as a form of a module. The text must live until the module is made.
inline ob_variant portable(const std::string& source) noexcept {
  ob_variant variant{};
  variant.kind = OB_PORTABLE;
  variant.bytes = source.c_str();
  return variant;
}

/// Kernels that are compiled in the background.
class Module : public Owner<ob_module, ob_module_unload> {
 public:
  /// @param options "-D NAME=VALUE", separated by blanks
  Module(const Device& device, const ob_variant& variant, const std::string& options = "")
      : Owner(load(device, variant, options)) {}

  /// Waits for the compiler.   Throws: Error, whose code is OB_BUILD_FAILED if it fails
  void wait() const { check(ob_module_wait(get(), OB_FOREVER)); }
  /// Waits for the compiler, and returns its words.
  std::string log() const {
    (void)ob_module_wait(get(), OB_FOREVER);
    std::size_t bytes = 0;
    check(ob_module_log(get(), nullptr, &bytes));
    std::string text(bytes, '\0');
    check(ob_module_log(get(), text.data(), &bytes));
    text.resize(bytes - 1);
    return text;
  }
  /// Returns a kernel with these parameters, e.g. kernel<double, In<double>, InOut<double>>("f").
  template <class... Parameters>
  Kernel<Parameters...> kernel(const std::string& name) const {
    return Kernel<Parameters...>(get(), name);
  }

 private:
  static ob_module load(const Device& device, const ob_variant& variant,
                        const std::string& options) {
    ob_module module = nullptr;
    check(ob_module_load(device.get(), &variant, 1, options.c_str(), &module));
    return module;
  }
};

}  // namespace outboard

#endif
