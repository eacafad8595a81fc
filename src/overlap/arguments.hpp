#pragma once
// The structs of outboard/overlap.h, checked, as those of the library.

#include <outboard/overlap.h>

#include <optional>

#include "base/status.hpp"
#include "overlap/halo.hpp"
#include "overlap/region.hpp"
#include "overlap/runtime.hpp"

namespace ob::overlap {

/// Reads the options, then OUTBOARD_OVERLAP and OUTBOARD_OVERLAP_CHECK.
Result<RuntimeOptions> options_from(const ob_overlap_options* options);
Result<FieldView> field_from(const ob_overlap_field* field);
/// Returns the box, which is inside of the field.
Result<Box> box_from(const ob_overlap_box* box, const FieldView& field);
Box box_from(const ob_overlap_box& box) noexcept;
ob_overlap_box box_to(const Box& box) noexcept;

/// Returns a panel: a field that may have no data, and extents of 0.
Result<FieldView> panel_from(const ob_overlap_field* panel);
Result<PanelOptions> panels_from(const ob_overlap_panel_options* options);

struct HaloDescription {
  HaloShape shape;
  Stencil stencil;
  std::vector<FieldView> fields;
  std::optional<FieldView> mask;
};
Result<HaloDescription> halo_from(const ob_overlap_halo_options* options);

}  // namespace ob::overlap
