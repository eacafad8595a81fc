// The overlap library of Outboard for C++20: communication plans on MPI that run while the program
// computes. Header only; the program links to the library of outboard/overlap.h.
//
//     namespace overlap = outboard::overlap;
//     overlap::Runtime rt(MPI_COMM_WORLD);
//     overlap::Field<double, 3> u(data, {nx + 2, ny + 2, nz + 2});
//     overlap::HaloPlan<3> halo(rt, cart, {u}, {.ghost = 1, .stencil = overlap::star(1)});
//     halo.commit();
//     for (int it = 0; it < n; ++it) {
//       overlap::Iteration run = halo.start();
//       run.for_tiles(halo.interior(), [&](const overlap::Box<3>& b) { relax(u, b); });
//       run.wait();
//       for (const auto& b : halo.boundary()) relax(u, b);
//     }
//
// End plans before their runtime, and the runtime before MPI_Finalize. Threads: as in
// outboard/overlap.h
#ifndef OUTBOARD_OVERLAP_HPP
#define OUTBOARD_OVERLAP_HPP

#include <outboard/overlap.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace outboard::overlap {

/// A failure of the overlap library; what() is its message.
class Error : public std::runtime_error {
 public:
  explicit Error(const ob_overlap_error& error)
      : std::runtime_error(error.message),
        code_(error.code),
        rank_(error.rank),
        neighbour_(error.neighbour),
        plan_(error.plan) {}

  ob_status code() const noexcept { return code_; }
  int rank() const noexcept { return rank_; }
  int neighbour() const noexcept { return neighbour_; }  ///< or -1
  const std::string& plan() const noexcept { return plan_; }

 private:
  ob_status code_;
  int rank_;
  int neighbour_;
  std::string plan_;
};

/// Throws the last failure of this thread unless `status` is OB_OK.
inline void check(ob_status status) {
  if (status == OB_OK) return;
  ob_overlap_error error{};
  error.struct_bytes = sizeof error;
  ob_overlap_last_error(&error);
  throw Error(error);
}

enum class Mode : std::int32_t {
  automatic = OB_OVERLAP_AUTOMATIC,
  sync = OB_OVERLAP_SYNC,
  async = OB_OVERLAP_ASYNC,
  ticked = OB_OVERLAP_TICKED,
  shared = OB_OVERLAP_SHARED,
  proxy = OB_OVERLAP_PROXY
};

/// Returns the mode with this name: "automatic", "sync", ... Throws Error for another name.
inline Mode mode_named(const std::string& name) {
  std::int32_t mode = 0;
  check(ob_overlap_mode_named(name.c_str(), &mode));
  return Mode(mode);
}
inline const char* to_string(Mode mode) noexcept {
  return ob_overlap_mode_name(std::int32_t(mode));
}

/// The cells low <= i < high.
template <int dims>
struct Box {
  std::array<std::int64_t, dims> low{};
  std::array<std::int64_t, dims> high{};

  bool operator==(const Box&) const = default;
  bool empty() const noexcept {
    for (int d = 0; d < dims; ++d)
      if (high[d] <= low[d]) return true;
    return false;
  }
  ob_overlap_box raw() const noexcept {
    ob_overlap_box box{{0, 0, 0, 0}, {1, 1, 1, 1}};
    std::copy(low.begin(), low.end(), box.low);
    std::copy(high.begin(), high.end(), box.high);
    return box;
  }
  static Box from(const ob_overlap_box& raw) noexcept {
    Box box;
    std::copy_n(raw.low, dims, box.low.begin());
    std::copy_n(raw.high, dims, box.high.begin());
    return box;
  }
};

/// An array of the program. Without strides the last dimension is contiguous.
template <class T, int dims>
struct Field {
  Field(T* cells, std::array<std::int64_t, dims> extent, std::array<std::int64_t, dims> stride = {})
      : data(cells), extents(extent), strides(stride) {}

  operator ob_overlap_field() const noexcept {
    // The library does not write to the elements of what it only reads.
    void* const cells = const_cast<std::remove_const_t<T>*>(data);
    ob_overlap_field field{cells, sizeof(T), dims, {1, 1, 1, 1}, {0, 0, 0, 0}};
    std::copy(extents.begin(), extents.end(), field.extents);
    std::copy(strides.begin(), strides.end(), field.strides);
    return field;
  }

  T* data;
  std::array<std::int64_t, dims> extents;
  std::array<std::int64_t, dims> strides;  ///< in elements
};

struct Options {
  Mode mode = Mode::automatic;
  int workers = 0;  ///< threads that compute; 0: OMP_NUM_THREADS, or 1
  int core = -1;    ///< of the proxy; -1: chosen
  bool check = false;
  std::chrono::duration<double> patience{60};
  void (*on_stuck)(const char* report, void* context) = nullptr;
  void* context = nullptr;
  int proxies = 1;  ///< threads that move messages; more than one need MPI_THREAD_MULTIPLE
};

/// The library in this process.
class Runtime {
 public:
  explicit Runtime(MPI_Comm comm, const Options& options = {}) {
    ob_overlap_options raw{};
    raw.struct_bytes = sizeof raw;
    raw.mode = std::int32_t(options.mode);
    raw.workers = options.workers;
    raw.core = options.core;
    raw.check = options.check ? 1 : 0;
    raw.patience_s = options.patience.count();
    raw.on_stuck = options.on_stuck;
    raw.context = options.context;
    raw.proxies = options.proxies;
    overlap::check(ob_overlap_attach(comm, &raw, &handle_));
  }
  Runtime(Runtime&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Runtime& operator=(Runtime&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Runtime() {
    if (handle_ != nullptr) (void)ob_overlap_detach(handle_);
  }

  ob_overlap_runtime get() const noexcept { return handle_; }
  /// Moves messages in mode ticked.
  void tick() const { overlap::check(ob_overlap_tick(handle_)); }
  /// Returns what was measured and chosen.
  std::string explain() const {
    std::size_t needed = 0;
    overlap::check(ob_overlap_explain(handle_, nullptr, 0, &needed));
    std::string text(needed, '\0');
    overlap::check(ob_overlap_explain(handle_, text.data(), text.size(), &needed));
    text.resize(text.find('\0'));
    return text;
  }

 private:
  ob_overlap_runtime handle_ = nullptr;
};

/// A run of a plan that is under way. The destructor waits; call wait() to see failures.
class Iteration {
 public:
  Iteration(ob_overlap_runtime runtime, ob_overlap_plan plan, std::uint32_t flags)
      : runtime_(runtime), plan_(plan) {
    check(ob_overlap_start(plan, flags));
  }
  Iteration(Iteration&& other) noexcept
      : runtime_(other.runtime_), plan_(std::exchange(other.plan_, nullptr)) {}
  Iteration& operator=(Iteration&&) = delete;
  ~Iteration() {
    if (plan_ != nullptr) (void)ob_overlap_wait(plan_);
  }

  void wait() { check(ob_overlap_wait(std::exchange(plan_, nullptr))); }
  /// After start(Sends::when_ready): the cells have their final values. Ghost cells arrive
  /// meanwhile, so this suits updates that read them from another array.
  template <int dims>
  void ready(const Box<dims>& cells) {
    const ob_overlap_box raw = cells.raw();
    check(ob_overlap_ready(plan_, &raw));
  }

  /// Calls `update` for boxes that make up `box`, on this thread, and ticks between them. A box has
  /// whole layers of the first dimension, as many as take about `at_most`. If nothing needs ticks,
  /// it is one call.
  template <int dims, class Update>
  void for_tiles(const Box<dims>& box, Update&& update,
                 std::chrono::duration<double> at_most = std::chrono::microseconds(500)) {
    if (box.empty()) return;
    if (ob_overlap_ticks(plan_) == 0) return update(box);
    std::int64_t layers = 1;
    Box<dims> tile = box;
    for (std::int64_t at = box.low[0]; at < box.high[0]; at = tile.high[0]) {
      tile.low[0] = at;
      tile.high[0] = std::min(at + layers, box.high[0]);
      const auto begin = std::chrono::steady_clock::now();
      update(std::as_const(tile));
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      check(ob_overlap_tick(runtime_));
      if (took < at_most / 2) layers *= 2;
      if (took > at_most) layers = std::max<std::int64_t>(1, layers / 2);
    }
  }

 private:
  ob_overlap_runtime runtime_;
  ob_overlap_plan plan_;
};

enum class Sends : std::uint32_t { at_once = 0, when_ready = OB_OVERLAP_HOLD };

/// The functions that all plans have.
class Plan {
 public:
  Plan(Plan&& other) noexcept
      : runtime_(other.runtime_), handle_(std::exchange(other.handle_, nullptr)) {}
  Plan& operator=(Plan&&) = delete;
  ~Plan() {
    if (handle_ != nullptr) (void)ob_overlap_plan_destroy(handle_);
  }

  ob_overlap_plan get() const noexcept { return handle_; }
  /// Compares both ends of all messages, and makes the requests. Collective.
  void commit() { check(ob_overlap_commit(handle_)); }
  Iteration start(Sends sends = Sends::at_once) {
    return Iteration(runtime_, handle_, std::uint32_t(sends));
  }

 protected:
  explicit Plan(const Runtime& runtime) : runtime_(runtime.get()) {}
  ob_overlap_runtime runtime_;
  ob_overlap_plan handle_ = nullptr;
};

/// The cells that an update reads.
struct Stencil {
  std::int32_t kind = OB_OVERLAP_STAR;
  std::int64_t reach = 1;
  std::vector<std::array<std::int64_t, OB_OVERLAP_DIMS>> offsets{};
};
inline Stencil star(std::int64_t reach) { return {OB_OVERLAP_STAR, reach}; }
inline Stencil cube(std::int64_t reach) { return {OB_OVERLAP_CUBE, reach}; }
inline Stencil offsets(std::vector<std::array<std::int64_t, OB_OVERLAP_DIMS>> list) {
  return {OB_OVERLAP_OFFSETS, 0, std::move(list)};
}

/// One ghost width for all sides, or one for each.
template <int dims>
struct Ghost {
  Ghost(std::int64_t width = 1) {
    low.fill(width);
    high.fill(width);
  }
  Ghost(std::array<std::int64_t, dims> before, std::array<std::int64_t, dims> behind)
      : low(before), high(behind) {}
  std::array<std::int64_t, dims> low;
  std::array<std::int64_t, dims> high;
};

/// The cells that travel: those whose byte is not 0. It has the extents of the fields.
template <int dims>
using Mask = Field<const std::uint8_t, dims>;

/// Returns the bytes of a mask for the cells of which the sum of the global indices is even
/// (`colour` 0) or odd (1). Element 0 of the array, often a ghost cell, has the global indices
/// `first`.
template <int dims>
std::vector<std::uint8_t> checkerboard(const std::array<std::int64_t, dims>& extents,
                                       const std::array<std::int64_t, dims>& first, int colour) {
  std::int64_t cells = 1;
  for (const std::int64_t extent : extents) cells *= extent;
  std::vector<std::uint8_t> mask(std::size_t(cells), std::uint8_t{0});
  for (std::int64_t at = 0; at < cells; ++at) {
    std::int64_t sum = colour;
    std::int64_t left = at;
    for (int d = dims - 1; d >= 0; left /= extents[d--]) sum += first[d] + left % extents[d];
    mask[std::size_t(at)] = sum % 2 == 0 ? 1 : 0;
  }
  return mask;
}

template <int dims>
struct HaloOptions {
  Ghost<dims> ghost{1};
  Stencil stencil = star(1);
  const char* name = "halo";
  std::optional<Mask<dims>> mask{};  ///< none: all cells travel
};

/// Fills ghost cells. Dimension d of the fields is dimension d of the Cartesian communicator, which
/// also says what is periodic.
template <int dims>
class HaloPlan : public Plan {
 public:
  HaloPlan(const Runtime& runtime, MPI_Comm cart, std::initializer_list<ob_overlap_field> fields,
           const HaloOptions<dims>& options = {})
      : Plan(runtime) {
    ob_overlap_halo_options raw{};
    raw.struct_bytes = sizeof raw;
    raw.name = options.name;
    std::copy_n(options.ghost.low.begin(), dims, raw.ghost_low);
    std::copy_n(options.ghost.high.begin(), dims, raw.ghost_high);
    raw.stencil = options.stencil.kind;
    raw.reach = options.stencil.reach;
    raw.offsets =
        reinterpret_cast<const std::int64_t(*)[OB_OVERLAP_DIMS]>(options.stencil.offsets.data());
    raw.offset_count = options.stencil.offsets.size();
    raw.fields = fields.begin();
    raw.field_count = fields.size();
    ob_overlap_field mask{};
    if (options.mask) {
      mask = *options.mask;
      raw.mask = &mask;
    }
    check(ob_overlap_halo(runtime.get(), cart, &raw, &handle_));
  }

  /// Returns the cells that can be updated between start and wait.
  Box<dims> interior() const {
    ob_overlap_box raw{};
    check(ob_overlap_interior(handle_, &raw));
    return Box<dims>::from(raw);
  }
  /// Returns the other cells of the rank, as disjoint boxes.
  std::vector<Box<dims>> boundary() const {
    ob_overlap_box raw[8];
    std::int32_t count = 0;
    check(ob_overlap_boundary(handle_, raw, &count));
    std::vector<Box<dims>> boxes;
    std::transform(raw, raw + count, std::back_inserter(boxes), Box<dims>::from);
    return boxes;
  }
};

/// Moves any regions between ranks, or within one.
class MovePlan : public Plan {
 public:
  MovePlan(const Runtime& runtime, MPI_Comm comm, const char* name = "moves") : Plan(runtime) {
    check(ob_overlap_moves(runtime.get(), comm, name, &handle_));
  }

  template <int dims>
  void send(const ob_overlap_field& field, const Box<dims>& box, int to, int tag) {
    const ob_overlap_box raw = box.raw();
    check(ob_overlap_send(handle_, &field, &raw, to, tag));
  }
  template <int dims>
  void receive(const ob_overlap_field& field, const Box<dims>& box, int from, int tag) {
    const ob_overlap_box raw = box.raw();
    check(ob_overlap_receive(handle_, &field, &raw, from, tag));
  }
  template <int dims, int to_dims>
  void move(const ob_overlap_field& from, const Box<dims>& from_box, const ob_overlap_field& to,
            const Box<to_dims>& to_box) {
    const ob_overlap_box source = from_box.raw();
    const ob_overlap_box target = to_box.raw();
    check(ob_overlap_move(handle_, &from, &source, &to, &target));
  }
};

enum class Broadcast : std::int32_t {
  automatic = OB_OVERLAP_BROADCAST_AUTOMATIC,
  ring = OB_OVERLAP_BROADCAST_RING,
  tree = OB_OVERLAP_BROADCAST_TREE
};

struct PanelOptions {
  int look_ahead = 1;  ///< panels under way beside the one in use
  Broadcast broadcast = Broadcast::automatic;
  const char* name = "panels";
};

/// Sends panels from their owners to all ranks of a group, several at a time.
///
///     overlap::PanelPlan<double> a(rt, row);
///     for (int k = 0; k < n; ++k) a.add<2>(owner(k), panel(k));
///     a.commit();
///     a.start(0);
///     for (int k = 0; k < n; ++k) {
///       if (k + 1 < n) a.start(k + 1);
///       a.wait(k);
///       multiply(a[k]);
///     }
template <class T>
class PanelPlan : public Plan {
 public:
  PanelPlan(const Runtime& runtime, MPI_Comm group, const PanelOptions& options = {})
      : Plan(runtime) {
    ob_overlap_panel_options raw{};
    raw.struct_bytes = sizeof raw;
    raw.name = options.name;
    raw.look_ahead = options.look_ahead;
    raw.broadcast = std::int32_t(options.broadcast);
    check(ob_overlap_panels(runtime.get(), group, &raw, &handle_));
  }

  /// Adds the next panel. Elsewhere than on its owner the data is not used and may be null, and the
  /// strides have the order of the owner's.
  template <int dims>
  void add(int owner, const Field<T, dims>& panel) {
    const ob_overlap_field raw = panel;
    check(ob_overlap_panel(handle_, owner, &raw));
  }
  /// Starts the next panel, or panel 0.
  void start(std::int64_t panel) { check(ob_overlap_panel_start(handle_, panel)); }
  /// Waits until the panel is here.
  void wait(std::int64_t panel) { check(ob_overlap_panel_wait(handle_, panel)); }
  /// Returns the elements of a panel, packed in the order of its strides, from its wait until the
  /// start of the panel that comes look_ahead + 1 later.
  const T* operator[](std::int64_t panel) const {
    const void* data = nullptr;
    check(ob_overlap_panel_data(handle_, panel, &data));
    return static_cast<const T*>(data);
  }
  /// Returns true if a panel moves by Runtime::tick() only, so that the computation should be cut.
  bool ticks() const noexcept { return ob_overlap_ticks(handle_) != 0; }
};

}  // namespace outboard::overlap

#endif
