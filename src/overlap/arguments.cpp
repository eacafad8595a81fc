#include "overlap/arguments.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace ob::overlap {
namespace {

Status invalid(std::string message) { return {Code::invalid_argument, std::move(message)}; }

Status read_mode(const std::string& text, RuntimeOptions& options) {
  const std::string name = text.substr(0, text.find('@'));
  const Result<Mode> mode = mode_named(name);
  if (!mode.ok())
    return invalid("OUTBOARD_OVERLAP=" + text + ": " + mode.status().message() + ", or proxy@CORE");
  options.mode = *mode;
  if (name.size() == text.size()) return {};
  char* end = nullptr;
  const long core = std::strtol(text.c_str() + name.size() + 1, &end, 10);
  if (*end != '\0' || core < 0 || core > 65535 || options.mode != Mode::proxy)
    return invalid("OUTBOARD_OVERLAP=" + text + " (no core) use proxy@CORE, e.g. proxy@7");
  options.core = int(core);
  return {};
}

/// Returns the field, whose extents are at least `least`.
Result<FieldView> view_of(const ob_overlap_field& field, std::int64_t least) {
  if (field.dims < 1 || field.dims > kDims)
    return invalid("a field of " + std::to_string(field.dims) +
                   " dimensions (1 to 4 are possible)");
  if (field.element_bytes < 1) return invalid("element_bytes below 1");
  FieldView view;
  view.data = static_cast<std::byte*>(field.data);
  view.element_bytes = field.element_bytes;
  view.dims = field.dims;
  bool strided = false;
  for (int d = 0; d < view.dims; ++d) {
    if (field.extents[d] < least) return invalid("an extent below " + std::to_string(least));
    view.extents[d] = field.extents[d];
    strided |= field.strides[d] != 0;
  }
  std::int64_t step = view.element_bytes;
  bool too_large = false;
  for (int d = view.dims - 1; d >= 0; --d) {
    view.strides[d] = step;
    if (strided)
      too_large |= __builtin_mul_overflow(field.strides[d], view.element_bytes, &view.strides[d]);
    // An extent of 0 makes the field empty, but others must not pass the limit unnoticed.
    too_large |= __builtin_mul_overflow(step, std::max<std::int64_t>(1, view.extents[d]), &step);
  }
  if (too_large) return invalid("a field of 2^63 bytes or more (an extent or a stride is wrong)");
  return view;
}

int default_workers() {
  const char* threads = std::getenv("OMP_NUM_THREADS");
  return threads ? std::max(1, std::atoi(threads)) : 1;
}

}  // namespace

Result<RuntimeOptions> options_from(const ob_overlap_options* given) {
  ob_overlap_options options{};
  options.core = -1;
  if (given != nullptr) {
    const std::size_t known = given->struct_bytes;  // those before `proxies` came are accepted
    if (known != sizeof options && known != offsetof(ob_overlap_options, proxies))
      return invalid("struct_bytes of the options is not their size");
    std::memcpy(&options, given, known);
  }
  if (options.mode < 0 || options.mode >= kModes)
    return invalid("mode " + std::to_string(options.mode) + " does not exist");
  if (options.workers < 0 || !(options.patience_s >= 0))
    return invalid("workers or patience_s below 0");
  if (options.proxies < 0 || options.proxies > kMostProxies)
    return invalid(std::to_string(options.proxies) + " proxies (1 to " +
                   std::to_string(kMostProxies) + " are possible)");
  RuntimeOptions result;
  result.mode = Mode(options.mode);
  result.workers = options.workers > 0 ? options.workers : default_workers();
  result.core = std::max(-1, options.core);
  result.check = options.check != 0;
  if (options.patience_s > 0) result.patience_s = options.patience_s;
  result.on_stuck = options.on_stuck;
  result.context = options.context;
  result.proxies = std::max(1, options.proxies);
  if (const char* mode = std::getenv("OUTBOARD_OVERLAP"); mode != nullptr && *mode != '\0')
    OB_RETURN_IF_ERROR(read_mode(mode, result));
  if (const char* check = std::getenv("OUTBOARD_OVERLAP_CHECK"))
    result.check = std::strcmp(check, "1") == 0;
  if (const char* trace = std::getenv("OUTBOARD_TRACE")) result.trace_path = trace;
  return result;
}

Result<FieldView> field_from(const ob_overlap_field* field) {
  if (field == nullptr || field->data == nullptr) return invalid("a field without data");
  return view_of(*field, 1);
}

Result<FieldView> panel_from(const ob_overlap_field* panel) {
  if (panel == nullptr) return invalid("a panel without a field");
  return view_of(*panel, 0);
}

Result<PanelOptions> panels_from(const ob_overlap_panel_options* options) {
  if (options == nullptr) return PanelOptions();
  if (options->struct_bytes != sizeof *options)
    return invalid("struct_bytes of the panel options is not their size");
  if (options->look_ahead < 0 || options->look_ahead > kMostLookAhead)
    return invalid("look_ahead " + std::to_string(options->look_ahead) + " is not in 0 to " +
                   std::to_string(kMostLookAhead));
  if (options->broadcast < 0 || options->broadcast >= kBroadcasts)
    return invalid("broadcast " + std::to_string(options->broadcast) + " does not exist");
  return PanelOptions{options->look_ahead, Broadcast(options->broadcast)};
}

Box box_from(const ob_overlap_box& box) noexcept {
  Box result;
  std::copy_n(box.low, kDims, result.low.begin());
  std::copy_n(box.high, kDims, result.high.begin());
  return result;
}

Result<Box> box_from(const ob_overlap_box* box, const FieldView& field) {
  if (box == nullptr) return invalid("no box");
  const Box result = box_from(*box);
  const Box all{Index{}, field.extents};
  if (result.empty() || !all.contains(result))
    return invalid("box " + to_string(result, field.dims) +
                   " is empty or not inside of the field " + to_string(all, field.dims));
  return result;
}

ob_overlap_box box_to(const Box& box) noexcept {
  ob_overlap_box result{};
  std::copy(box.low.begin(), box.low.end(), result.low);
  std::copy(box.high.begin(), box.high.end(), result.high);
  return result;
}

namespace {

/// Reads the mask. Programs that were compiled before there were masks have smaller options.
Status read_mask(const ob_overlap_halo_options& options, HaloDescription& halo) {
  if (options.struct_bytes != sizeof options || options.mask == nullptr) return {};
  OB_ASSIGN_OR_RETURN(halo.mask, field_from(options.mask));
  const FieldView& first = halo.fields.front();
  if (halo.mask->element_bytes != 1 || halo.mask->dims != first.dims ||
      halo.mask->extents != first.extents)
    return invalid("a mask of other extents than the fields, or of other elements than bytes");
  return {};
}

}  // namespace

Result<HaloDescription> halo_from(const ob_overlap_halo_options* options) {
  if (options == nullptr || (options->struct_bytes != sizeof *options &&
                             options->struct_bytes != offsetof(ob_overlap_halo_options, mask)))
    return invalid("struct_bytes of the halo options is not their size");
  if (options->fields == nullptr || options->field_count == 0)
    return invalid("a halo plan without fields");
  HaloDescription halo;
  for (std::size_t i = 0; i < options->field_count; ++i) {
    OB_ASSIGN_OR_RETURN(const FieldView view, field_from(options->fields + i));
    halo.fields.push_back(view);
    if (view.extents != halo.fields.front().extents || view.dims != halo.fields.front().dims)
      return invalid("fields of different extents (a halo plan has one shape) use several plans");
  }
  OB_RETURN_IF_ERROR(read_mask(*options, halo));
  halo.shape.dims = halo.fields.front().dims;
  halo.shape.extents = halo.fields.front().extents;
  std::copy_n(options->ghost_low, halo.shape.dims, halo.shape.ghost_low.begin());
  std::copy_n(options->ghost_high, halo.shape.dims, halo.shape.ghost_high.begin());
  if (options->reach < 0 || options->reach > 64)  // a cube of 129^4 offsets is a mistake
    return invalid("reach " + std::to_string(options->reach) + " is not in 0 to 64");
  switch (options->stencil) {
    case OB_OVERLAP_STAR: halo.stencil = star(halo.shape.dims, options->reach); return halo;
    case OB_OVERLAP_CUBE: halo.stencil = cube(halo.shape.dims, options->reach); return halo;
    case OB_OVERLAP_OFFSETS: break;
    default: return invalid("unknown stencil");
  }
  for (std::size_t i = 0; options->offsets != nullptr && i < options->offset_count; ++i) {
    Index offset{};
    std::copy_n(options->offsets[i], halo.shape.dims, offset.begin());
    halo.stencil.push_back(offset);
  }
  return halo;
}

}  // namespace ob::overlap
