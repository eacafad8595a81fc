// The device API of Outboard for C++17: owners of the handles of outboard/device.h, typed buffers,
// and exceptions. Header only; the program links to liboutboard.so.1.
//
//     outboard::Device gpu("node7:7770");
//     outboard::Queue q = gpu.queue();
//     outboard::Matrix<double> a(gpu, m, k), b(gpu, k, n), c(gpu, m, n);
//     q.write(a, host_a.data());
//     q.write(b, host_b.data());
//     outboard::gemm(q, 'N', 'N', 1.0, a, b, 0.0, c);
//     q.read(host_c.data(), c);
//     q.synchronize();
//
// Owners are move only. A destructor ends its object and reports nothing; end objects before their
// device, or not at all: a device ends what was made of it. Threads: as in outboard/device.h
#ifndef OUTBOARD_DEVICE_HPP
#define OUTBOARD_DEVICE_HPP

#include <outboard/device.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace outboard {

/// A failure of the device API; what() is its message.
class Error : public std::runtime_error {
 public:
  explicit Error(const ob_error& error)
      : std::runtime_error(error.message),
        code_(error.code),
        origin_(error.origin),
        command_(error.command),
        name_(error.name) {}

  ob_status code() const noexcept { return code_; }
  std::int32_t origin() const noexcept { return origin_; }     ///< OB_FROM_...
  std::uint64_t command() const noexcept { return command_; }  ///< number in its queue, or 0
  const std::string& name() const noexcept { return name_; }   ///< the routine, or ""

 private:
  ob_status code_;
  std::int32_t origin_;
  std::uint64_t command_;
  std::string name_;
};

namespace detail {

// Keeps a parameter out of the deduction of T, so that 1.0 and a Matrix are accepted.
template <class T>
struct Exactly {
  using type = T;
};

}  // namespace detail

/// Throws the last failure of this thread unless `status` is OB_OK.
inline void check(ob_status status) {
  if (status == OB_OK) return;
  ob_error error{};
  error.struct_bytes = sizeof error;
  ob_last_error(&error);
  throw Error(error);
}

/// The one owner of a handle.
template <class Handle, ob_status (*kEnd)(Handle)>
class Owner {
 public:
  Owner() noexcept = default;
  explicit Owner(Handle handle) noexcept : handle_(handle) {}
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owner() {
    if (handle_ != nullptr) (void)kEnd(handle_);
  }

  Handle get() const noexcept { return handle_; }
  /// Gives the handle up.
  Handle release() noexcept { return std::exchange(handle_, nullptr); }
  /// Ends the object now.   Throws: Error
  void end() {
    if (handle_ != nullptr) check(kEnd(std::exchange(handle_, nullptr)));
  }

 private:
  Handle handle_ = nullptr;
};

class Queue;

/// An open device.
class Device : public Owner<ob_device, ob_device_close> {
 public:
  /// Takes over a handle, such as that of a device of a lease.
  explicit Device(ob_device opened) : Owner(opened) {}
  /// @param where as ob_device_open(); empty: OUTBOARD_SERVER
  explicit Device(const std::string& where, const ob_device_options* options = nullptr)
      : Owner(open(where, options)) {}

  ob_device_facts facts() const {
    ob_device_facts facts{};
    facts.struct_bytes = sizeof facts;
    check(ob_device_get_facts(get(), &facts));
    return facts;
  }
  inline Queue queue() const;

 private:
  static ob_device open(const std::string& where, const ob_device_options* options) {
    ob_device device = nullptr;
    check(ob_device_open(where.empty() ? nullptr : where.c_str(), options, &device));
    return device;
  }
};

/// Uninitialised memory of a device.
class Buffer : public Owner<ob_buffer, ob_buffer_destroy> {
 public:
  /// @param flags 0 or OB_WAIT
  Buffer(const Device& device, std::uint64_t bytes, std::uint32_t flags = 0)
      : Owner(create(device, bytes, flags)), size_bytes_(bytes) {}

  std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  /// Returns the memory's address, if the device is host-visible.
  void* map() const {
    void* address = nullptr;
    check(ob_buffer_map(get(), &address));
    return address;
  }

 private:
  static ob_buffer create(const Device& device, std::uint64_t bytes, std::uint32_t flags) {
    ob_buffer buffer = nullptr;
    check(ob_buffer_create(device.get(), bytes, flags, &buffer));
    return buffer;
  }
  std::uint64_t size_bytes_;
};

/// A place of numbers in a buffer, as routines take it. It owns nothing.
template <class T>
struct MatrixView {
  ob_place place;
  std::int64_t rows, cols, ld;

  /// Returns the block of r x c elements whose first is (i, j).
  MatrixView block(std::int64_t i, std::int64_t j, std::int64_t r, std::int64_t c) const {
    if (i < 0 || j < 0 || r < 0 || c < 0 || i > rows - r || j > cols - c) {
      throw std::out_of_range("a block is not inside its matrix; check its first element and size");
    }
    const auto elements = static_cast<std::uint64_t>(i + j * ld);
    return {{place.buffer, place.offset_bytes + elements * sizeof(T)}, r, c, ld};
  }
};

/// A column-major matrix without gaps, in a buffer of its own.
template <class T>
class Matrix {
  static_assert(std::is_trivially_copyable_v<T>, "elements are copied byte by byte");

 public:
  /// @pre rows > 0 && cols > 0
  Matrix(const Device& device, std::int64_t rows, std::int64_t cols)
      : buffer_(device, bytes(rows, cols)), rows_(rows), cols_(cols) {}

  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t cols() const noexcept { return cols_; }
  const Buffer& buffer() const noexcept { return buffer_; }
  operator MatrixView<T>() const noexcept { return view(); }
  MatrixView<T> view() const noexcept { return {{buffer_.get(), 0}, rows_, cols_, rows_}; }
  MatrixView<T> block(std::int64_t i, std::int64_t j, std::int64_t r, std::int64_t c) const {
    return view().block(i, j, r, c);
  }

 private:
  static std::uint64_t bytes(std::int64_t rows, std::int64_t cols) {
    const auto most = static_cast<std::int64_t>(INT64_MAX / static_cast<std::int64_t>(sizeof(T)));
    if (rows <= 0 || cols <= 0 || rows > most / cols) {
      throw std::out_of_range(
          "a matrix needs a positive number of rows and columns, and fewer "
          "than 2^63 bytes");
    }
    return static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(cols) * sizeof(T);
  }
  Buffer buffer_;
  std::int64_t rows_, cols_;
};

/// Contiguous elements in a buffer of their own.
template <class T>
class Vector : public Matrix<T> {
 public:
  /// @pre size > 0
  Vector(const Device& device, std::int64_t size) : Matrix<T>(device, size, 1) {}
  std::int64_t size() const noexcept { return this->rows(); }
  /// Returns `count` elements from `first` on, as a matrix of one column.
  MatrixView<T> part(std::int64_t first, std::int64_t count) const {
    return this->block(first, 0, count, 1);
  }
};

/// A point in the work of a queue.
class Event : public Owner<ob_event, ob_event_destroy> {
 public:
  /// @param flags 0 or OB_TIMED
  explicit Event(const Device& device, std::uint32_t flags = 0) : Owner(create(device, flags)) {}
  /// Returns false if the time limit passes first.
  bool wait(std::int64_t timeout_ms = OB_FOREVER) const {
    const ob_status status = ob_event_wait(get(), timeout_ms);
    if (status == OB_DEADLINE_EXCEEDED) return false;
    check(status);
    return true;
  }
  /// Returns a descriptor that polls readable once the last record is done (ob_event_fd).
  int descriptor() const {
    int descriptor = -1;
    check(ob_event_fd(get(), &descriptor));
    return descriptor;
  }

 private:
  static ob_event create(const Device& device, std::uint32_t flags) {
    ob_event event = nullptr;
    check(ob_event_create(device.get(), flags, &event));
    return event;
  }
};

/// Returns the time on the device between the last records of two events that were made with
/// OB_TIMED [ns].
inline std::uint64_t elapsed_ns(const Event& from, const Event& to) {
  std::uint64_t elapsed = 0;
  check(ob_event_elapsed_ns(from.get(), to.get(), &elapsed));
  return elapsed;
}

/// Runs commands in order.   Threads: one at a time
class Queue : public Owner<ob_queue, ob_queue_destroy> {
 public:
  explicit Queue(const Device& device) : Owner(create(device)) {}

  void flush() const { check(ob_queue_flush(get())); }
  /// Waits for the queue and clears its failure.   Throws: that failure, as Error
  ob_report synchronize() const {
    ob_report report{};
    report.struct_bytes = sizeof report;
    check(ob_queue_synchronize(get(), OB_FOREVER, &report));
    return report;
  }
  /// The same without exceptions: the report has the failure.
  ob_report try_synchronize() const noexcept {
    ob_report report{};
    report.struct_bytes = sizeof report;
    const ob_status status = ob_queue_synchronize(get(), OB_FOREVER, &report);
    if (status != OB_OK && report.error.code == OB_OK) {  // nothing could be reported
      report.error.struct_bytes = sizeof report.error;
      ob_last_error(&report.error);
    }
    return report;
  }

  /// Calls `done`, a void(const ob_report&), when the queue is here (ob_queue_callback). It must
  /// not throw.
  template <class Done>
  void then(Done done) const {
    auto held = std::make_unique<Done>(std::move(done));
    const auto run = [](void* user, const ob_report* report) {
      const std::unique_ptr<Done> taken(static_cast<Done*>(user));
      (*taken)(*report);
    };
    check(ob_queue_callback(get(), run, held.get()));
    (void)held.release();  // the callback has it now
  }

  void record(const Event& event) const { check(ob_event_record(event.get(), get())); }
  void hold(const Event& event) const { check(ob_event_hold(event.get(), get())); }

  /// Copies a matrix from host memory with leading dimension `ld` (0: without gaps), which belongs
  /// to the command until the queue has passed it.   @param flags 0 or OB_CAPTURE
  template <class T>
  void write(const Matrix<T>& to, const T* from, std::uint32_t flags = 0) const {
    write(to.view(), from, to.rows(), flags);
  }
  template <class T>
  void write(const MatrixView<T>& to, const T* from, std::int64_t ld = 0,
             std::uint32_t flags = 0) const {
    const ob_rect rect = rectangle(to, ld, flags);
    check(ob_write_2d(get(), to.place, from, &rect));
  }
  /// Sets every element of a vector or matrix without gaps.
  template <class T>
  void fill(const Matrix<T>& to, const typename detail::Exactly<T>::type& value) const {
    static_assert(sizeof(T) <= 16 && (sizeof(T) & (sizeof(T) - 1)) == 0,
                  "a pattern has 1, 2, 4, 8 or 16 bytes");
    const auto count =
        static_cast<std::uint64_t>(to.rows()) * static_cast<std::uint64_t>(to.cols());
    check(ob_fill(get(), to.view().place, &value, sizeof(T), count));
  }
  /// Copies a matrix to host memory.   @param flags 0 or OB_WAIT
  template <class T>
  void read(T* to, const Matrix<T>& from, std::uint32_t flags = 0) const {
    read(to, from.view(), from.rows(), flags);
  }
  template <class T>
  void read(T* to, const MatrixView<T>& from, std::int64_t ld = 0, std::uint32_t flags = 0) const {
    const ob_rect rect = rectangle(from, ld, flags);
    check(ob_read_2d(get(), to, from.place, &rect));
  }

  /// Runs a routine of the table, as ob_call().
  void call(const char* routine, std::initializer_list<ob_operand> operands) const {
    check(ob_call(get(), routine, operands.begin(), operands.size()));
  }

 private:
  static ob_queue create(const Device& device) {
    ob_queue queue = nullptr;
    check(ob_queue_create(device.get(), 0, &queue));
    return queue;
  }
  // The size of one number: complex elements are two.
  template <class T>
  struct Word : std::integral_constant<std::uint32_t, sizeof(T) <= 8 ? sizeof(T) : 1> {};
  template <class T>
  struct Word<std::complex<T>> : std::integral_constant<std::uint32_t, sizeof(T)> {};
  template <class T>
  static ob_rect rectangle(const MatrixView<T>& view, std::int64_t ld, std::uint32_t flags) {
    constexpr std::uint32_t word = Word<T>::value;
    ob_rect rect{};
    rect.width_bytes = static_cast<std::uint64_t>(view.rows) * sizeof(T);
    rect.rows = static_cast<std::uint64_t>(view.cols);
    rect.device_pitch_bytes = static_cast<std::uint64_t>(view.ld) * sizeof(T);
    rect.host_pitch_bytes = static_cast<std::uint64_t>(ld == 0 ? view.rows : ld) * sizeof(T);
    rect.word_bytes = (word & (word - 1)) == 0 ? word : 1;
    rect.flags = flags;
    return rect;
  }
};

inline Queue Device::queue() const { return Queue(*this); }

// --- operands of Queue::call() -------------------------------------------------------------------

/// An operand of on_devices(), in the program's memory.
inline ob_operand host(void* elements, std::int64_t ld = 0) noexcept {
  ob_operand operand{};
  operand.value.host = elements;
  operand.ld = ld;
  return operand;
}
inline ob_operand flag(char value) noexcept {
  ob_operand operand{};
  operand.value.flag = value;
  return operand;
}
inline ob_operand integer(std::int64_t value) noexcept {
  ob_operand operand{};
  operand.value.integer = value;
  return operand;
}
inline ob_operand scalar(double value) noexcept {
  ob_operand operand{};
  operand.value.real = value;
  return operand;
}
/// A complex scalar, which must live until the call returns.
inline ob_operand scalar(const double (&pair)[2]) noexcept {
  ob_operand operand{};
  operand.value.pair = pair;
  return operand;
}
template <class T>
ob_operand operand(const MatrixView<T>& view) noexcept {
  ob_operand made{};
  made.value.place = view.place;
  made.ld = view.ld;
  return made;
}
template <class T>
ob_operand operand(const Matrix<T>& matrix) noexcept {
  return operand(matrix.view());
}
/// Elements with an increment.
template <class T>
ob_operand operand(const Vector<T>& vector, std::int64_t increment) noexcept {
  ob_operand made = operand(vector.view());
  made.ld = increment;
  return made;
}

namespace detail {

template <class T>
struct Gemm;
template <>
struct Gemm<float> {
  static constexpr const char* name = "sgemm";
};
template <>
struct Gemm<double> {
  static constexpr const char* name = "dgemm";
};
template <>
struct Gemm<std::complex<float>> {
  static constexpr const char* name = "cgemm";
};
template <>
struct Gemm<std::complex<double>> {
  static constexpr const char* name = "zgemm";
};

template <class T>
struct Scalar {
  explicit Scalar(const T& value) : value_{static_cast<double>(value), 0} {}
  ob_operand operand() const noexcept { return scalar(value_[0]); }
  double value_[2];
};
template <class T>
struct Scalar<std::complex<T>> {
  explicit Scalar(const std::complex<T>& value)
      : value_{static_cast<double>(value.real()), static_cast<double>(value.imag())} {}
  ob_operand operand() const noexcept { return scalar(value_); }
  double value_[2];
};

}  // namespace detail

/// Hands over C <- alpha op(A) op(B) + beta C.
/// Shapes: op(A) m x k, op(B) k x n, C m x n; op is given by 'N', 'T' or 'C'
template <class T>
void gemm(const Queue& queue, char transa, char transb, typename detail::Exactly<T>::type alpha,
          const MatrixView<T>& a, const MatrixView<T>& b, typename detail::Exactly<T>::type beta,
          const MatrixView<T>& c) {
  const bool plain_a = transa == 'N' || transa == 'n';
  const bool plain_b = transb == 'N' || transb == 'n';
  const std::int64_t k = plain_a ? a.cols : a.rows;
  if ((plain_a ? a.rows : a.cols) != c.rows || (plain_b ? b.cols : b.rows) != c.cols ||
      (plain_b ? b.rows : b.cols) != k) {
    throw std::invalid_argument(
        "the shapes of a product do not fit; C is m x n, op(A) m x k and "
        "op(B) k x n");
  }
  const detail::Scalar<T> alpha_pair(alpha), beta_pair(beta);
  queue.call(detail::Gemm<T>::name,
             {flag(transa), flag(transb), integer(c.rows), integer(c.cols), integer(k),
              alpha_pair.operand(), operand(a), operand(b), beta_pair.operand(), operand(c)});
}
template <class T>
void gemm(const Queue& queue, char transa, char transb, typename detail::Exactly<T>::type alpha,
          const Matrix<T>& a, const Matrix<T>& b, typename detail::Exactly<T>::type beta,
          const Matrix<T>& c) {
  gemm(queue, transa, transb, alpha, a.view(), b.view(), beta, c.view());
}

// --- several devices -----------------------------------------------------------------------------

/// Runs a routine on several devices, with operands in the program's memory, and waits, as
/// ob_on_devices().
inline void on_devices(std::initializer_list<const Device*> devices, const char* routine,
                       std::initializer_list<ob_operand> operands) {
  std::vector<ob_device> handles;
  for (const Device* device : devices) handles.push_back(device->get());
  check(ob_on_devices(handles.data(), handles.size(), routine, operands.begin(), operands.size()));
}

/// Devices of a pool, which the library renews until the end of this object.
class Lease {
 public:
  /// Sets the struct_bytes of the request.
  explicit Lease(ob_request request) {
    request.struct_bytes = sizeof request;
    check(ob_lease_acquire(&request, &lease_));
  }
  ~Lease() { (void)ob_lease_release(lease_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  /// Returns a device, which ends before the lease, or with it.   @param index from 0
  Device device(std::uint32_t index) const {
    ob_device found = nullptr;
    check(ob_lease_device(lease_, index, &found));
    return Device(found);
  }
  /// @param wait_ms OB_FOREVER, or the longest wait
  void grow(std::uint32_t count, std::int64_t wait_ms = OB_FOREVER) {
    check(ob_lease_grow(lease_, count, wait_ms));
  }
  /// Gives a device back.
  void shrink(Device device) { check(ob_lease_shrink(lease_, device.release())); }

  ob_lease get() const noexcept { return lease_; }

 private:
  ob_lease lease_ = nullptr;
};

}  // namespace outboard

#include <outboard/device_kernels.hpp>
#include <outboard/device_peers.hpp>

#endif
