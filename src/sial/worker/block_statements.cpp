// Statements on blocks, whole statics and regions that this worker holds.

#include <algorithm>
#include <utility>

#include "sial/operations/contraction.hpp"
#include "sial/operations/copy.hpp"
#include "sial/operations/elements.hpp"
#include "sial/worker/worker.hpp"

namespace ob::sial {

std::string Worker::name_of(std::uint32_t array,
                            const std::array<std::int64_t, kMaxRank>& segments) const {
  std::string name = program_.arrays[array].name;
  for (std::size_t d = 0; d < program_.arrays[array].indices.size(); ++d) {
    name += d == 0 ? "[" : ",";
    name += std::to_string(segments[d]);
  }
  return name + "]";
}

Worker::Step Worker::execute_block() {
  switch (instruction().op) {
    case Opcode::block_slice:
    case Opcode::block_insert: return slice_statement();
    case Opcode::static_fill:
    case Opcode::static_copy: return static_statement();
    case Opcode::region_fill:
    case Opcode::region_store:
    case Opcode::region_load: return region_statement();
    case Opcode::block_release: {
      BlockPlace place;
      if (const Status found = geometry_.resolve(instruction().a, values_, place); !found.ok()) {
        return fail(found);
      }
      store_.remove(place.array, place.number);
      return Step::next;
    }
    case Opcode::allocate:
    case Opcode::deallocate:
    case Opcode::deallocate_array: return allocate();
    case Opcode::allocate_contiguous: return allocate_contiguous();
    case Opcode::deallocate_contiguous: return deallocate_contiguous();
    default: return block_statement();
  }
}

Worker::Step Worker::operand(std::uint32_t selector, ConstView& view) {
  if (const Status found = geometry_.resolve(selector, values_, place_); !found.ok()) {
    return fail(found);
  }
  return operand_at(place_, view);
}

Worker::Step Worker::operand_at(const BlockPlace& place, ConstView& view) {
  const Array& array = program_.arrays[place.array];
  if (array.storage == Storage::static_) {
    const Block& whole = *store_.whole_static(place.array);
    geometry_.inside(place, whole.data(), view);
    return Step::next;
  }
  if (array.storage == Storage::distributed || array.storage == Storage::served) {
    ConstBlockPtr block;
    const Step found = granted_block(place, block);
    if (found == Step::next) Geometry::alone(place, block->data(), view);
    return found;
  }
  if (array.contiguous) {
    View region;
    const Step found = region_at(place, region);
    if (found == Step::next) view = read_only(region);
    return found;
  }
  const BlockPtr* block = store_.find(place.array, place.number);
  if (block == nullptr) {
    return fail("R01 " + name_of(place) + " is read before it is written");
  }
  Geometry::alone(place, std::as_const(**block).data(), view);
  return Step::next;
}

Worker::Step Worker::region_at(const BlockPlace& place, View& view) {
  std::array<std::int64_t, 2 * kMaxRank> bounds{};
  for (unsigned d = 0; d < place.shape.rank; ++d) {
    bounds[2 * d] = bounds[2 * d + 1] = place.segments[d];
  }
  LocalRegion* region = store_.region_around(place.array, bounds.data());
  if (region == nullptr) {
    return fail("R06 " + name_of(place) + " lies in no allocated region");
  }
  view = store_.region_view(place.array, *region, bounds.data());
  view.labels = place.labels;
  view.simple = place.simple;
  return Step::next;
}

Worker::Step Worker::destination(std::uint32_t selector, bool updates, View& view) {
  if (const Status found = geometry_.resolve(selector, values_, place_); !found.ok()) {
    return fail(found);
  }
  return destination_at(place_, updates, view);
}

// `updates`: the statement uses the old contents of the block, so it must exist.
Worker::Step Worker::destination_at(const BlockPlace& place, bool updates, View& view) {
  const Array& array = program_.arrays[place.array];
  if (array.storage == Storage::static_) {
    geometry_.inside(place, store_.whole_static(place.array)->data(), view);
    return Step::next;
  }
  if (array.contiguous) return region_at(place, view);
  BlockPtr* block = nullptr;
  const Step found = destination_block(place, updates, block);
  if (found == Step::next) Geometry::alone(place, (*block)->data(), view);
  return found;
}

// The same for a temp or local, which nobody else holds then.
Worker::Step Worker::destination_block(const BlockPlace& place, bool updates, BlockPtr*& block) {
  const Array& array = program_.arrays[place.array];
  block = store_.find(place.array, place.number);
  if (block == nullptr) {
    if (updates) {
      return fail("R03 " + name_of(place) + " is changed before it has a value");
    }
    if (array.storage == Storage::local && !warned_[at_] && setting_.warn) {
      warned_[at_] = true;
      setting_.warn(where_text(at_) + ": warning: " + name_of(place) +
                    " is written without allocate; it is created");
    }
    auto added = store_.add(place, loops_.size());
    if (!added.ok()) return out_of_memory(added.status());
    block = *added;
  }
  if (block->use_count() > 1) {
    held_ = *block;  // an operand of this statement may be a view of it
    auto own = updates ? pool_.copy(**block) : pool_.allocate(place.shape);
    if (!own.ok()) return out_of_memory(own.status());
    *block = std::move(*own);
  } else if (!updates) {
    (*block)->discard();
  }
  return Step::next;
}

Worker::Step Worker::block_statement() {
  const Instruction& now = instruction();
  if (now.op == Opcode::block_fill) {
    return fill_statement();
  }
  const bool one = now.op == Opcode::block_copy || now.op == Opcode::block_scale;
  return one ? one_operand_statement() : two_operand_statement();
}

Worker::Step Worker::fill_statement() {
  const Instruction& now = instruction();
  const auto how = static_cast<Assign>(now.x);
  if (const Step found = destination(now.a, how != Assign::set, target_); found != Step::next) {
    return found;
  }
  const double value = pop_scalar();
  fill(target_, value, how);
  if (setting_.device == nullptr || how != Assign::set) return Step::next;
  // A device fills its copy by itself.
  if (BlockPtr* const block = store_.find(place_.array, place_.number); block != nullptr) {
    (*block)->set_value(value);
  }
  return Step::next;
}

// Begins the statement again when a block that was put has left: its memory is free then.
Worker::Step Worker::out_of_memory(const Status& status) {
  held_.reset();
  return open_writes_.bytes() != 0 ? Step::wait : fail("R10 " + status.message());
}

// Goes on behind an operation, which fails only if there is no memory for its work.
Worker::Step Worker::done(const Status& status) {
  return status.ok() ? Step::next : fail("R10 " + status.message());
}

// The operands are looked up before the destination, which may be created then.
Worker::Step Worker::one_operand_statement() {
  const Instruction& now = instruction();
  const auto how = static_cast<Assign>(now.x);
  if (const Step found = operand(now.b, left_); found != Step::next) return found;
  if (const Step found = destination(now.a, how != Assign::set, target_); found != Step::next) {
    return found;
  }
  const double factor = now.op == Opcode::block_scale ? pop_scalar() : 1.0;
  return done(copy(planned_copy(), target_, left_, factor, how, scratch_));
}

Worker::Step Worker::two_operand_statement() {
  const Instruction& now = instruction();
  const bool assigned = now.op == Opcode::block_contract || now.op == Opcode::block_outer;
  const auto how = assigned ? static_cast<Assign>(now.x) : Assign::set;
  if (now.op == Opcode::block_contract && setting_.device != nullptr) {
    if (const auto step = contract_on_device()) return *step;
  }
  if (const Step found = operand(now.b, left_); found != Step::next) return found;
  if (const Step found = operand(now.c, right_); found != Step::next) return found;
  if (const Step found = destination(now.a, how != Assign::set, target_); found != Step::next) {
    return found;
  }
  switch (now.op) {
    case Opcode::block_add: return done(add(target_, left_, right_, scratch_));
    case Opcode::block_subtract: return done(subtract(target_, left_, right_, scratch_));
    case Opcode::block_outer: return done(outer(target_, left_, right_, how, scratch_));
    default:
      return done(
          contract(planned_contraction(), target_, left_, right_, how, *setting_.gemm, scratch_));
  }
}

// Returns the plan of the present contraction. Loops mostly go through blocks of one size, and a
// plan takes longer than the product of small blocks.
const ContractionPlan& Worker::planned_contraction() {
  std::unique_ptr<PlannedContraction>& last = contractions_[at_];
  // The labels are those of the instruction's selectors.
  if (last == nullptr || !equal_layout(last->d, target_) || !equal_layout(last->b1, left_) ||
      !equal_layout(last->b2, right_)) {
    last.reset(new PlannedContraction{target_, left_, right_,
                                      ContractionPlan::make(target_, left_, right_)});
  }
  return last->plan;
}

// The same for a copy.
const CopyPlan& Worker::planned_copy() {
  std::unique_ptr<PlannedCopy>& last = copies_[at_];
  if (last == nullptr || !equal_layout(last->d, target_) || !equal_layout(last->b, left_)) {
    last.reset(new PlannedCopy{target_, left_, copy_plan(target_, left_)});
  }
  return last->plan;
}

Worker::Step Worker::slice_statement() {
  const Instruction& now = instruction();
  const bool slice = now.op == Opcode::block_slice;
  BlockPlace whole;
  const Status found = geometry_.resolve(slice ? now.b : now.a, values_, whole);
  if (!found.ok()) return fail(found);
  if (slice) {
    ConstView source;
    View target;
    if (const Step step = operand_at(whole, source); step != Step::next) return step;
    if (const Step step = destination(now.a, false, target); step != Step::next) return step;
    return done(copy(target, Geometry::part(whole, source), 1.0, Assign::set, scratch_));
  }
  ConstView source;
  View target;
  if (const Step step = operand(now.b, source); step != Step::next) return step;
  if (const Step step = destination_at(whole, true, target); step != Step::next) return step;
  return done(copy(Geometry::part(whole, target), source, 1.0, Assign::set, scratch_));
}

Worker::Step Worker::static_statement() {
  const Instruction& now = instruction();
  Block& target = *store_.whole_static(now.a);
  const View view = view_of(target);
  if (now.op == Opcode::static_fill) {
    fill(view, pop_scalar(), static_cast<Assign>(now.x));
    return Step::next;
  }
  const Block& source = *store_.whole_static(now.b);
  if (!(source.shape() == target.shape())) {
    return fail("R05 the two statics have different extents");
  }
  return done(copy(view, view_of(source), 1.0, static_cast<Assign>(now.x), scratch_));
}

Worker::Step Worker::region_statement() {
  const Instruction& now = instruction();
  const std::uint32_t array = now.op == Opcode::region_load ? now.b : now.a;
  const std::size_t bounds_count = 2 * program_.arrays[array].indices.size();
  const std::size_t above = now.op == Opcode::region_fill ? 1 : 0;
  std::array<std::int64_t, 2 * kMaxRank> bounds{};
  for (std::size_t i = 0; i < bounds_count; ++i) {
    bounds[i] = stack_[depth_ - above - bounds_count + i].i;
  }
  auto checked = geometry_.region(array, bounds.data());
  if (!checked.ok()) return fail(checked.status());
  LocalRegion* region = store_.region_around(array, bounds.data());
  if (region == nullptr) {
    return fail("R06 the region of " + program_.arrays[array].name +
                " lies in no allocated region");
  }
  View view = store_.region_view(array, *region, bounds.data());
  if (now.op == Opcode::region_fill) {
    fill(view, pop_scalar(), Assign::set);
  } else if (now.op == Opcode::region_store) {
    ConstView source;
    if (const Step found = operand(now.b, source); found != Step::next) return found;
    if (!std::equal(source.extents.begin(), source.extents.begin() + source.rank,
                    view.extents.begin())) {
      return fail("R06 the block and the region have different extents");
    }
    view.labels = source.labels;
    view.simple = source.simple;
    if (const Step copied = done(copy(view, source, 1.0, Assign::set, scratch_));
        copied != Step::next) {
      return copied;
    }
  } else {
    View target;
    if (const Step found = destination(now.a, false, target); found != Step::next) return found;
    if (!std::equal(view.extents.begin(), view.extents.begin() + view.rank,
                    target.extents.begin())) {
      return fail("R06 the block and the region have different extents");
    }
    view.labels = target.labels;
    view.simple = target.simple;
    const Step copied = done(copy(target, read_only(view), 1.0, Assign::set, scratch_));
    if (copied != Step::next) return copied;
  }
  depth_ -= bounds_count;
  return Step::next;
}

// Allocates or frees the blocks of a selector, whose `*` means all segments.
Worker::Step Worker::allocate() {
  const Instruction& now = instruction();
  if (now.op == Opcode::deallocate_array) {
    store_.remove_all(now.a);
    return Step::next;
  }
  const Selector& selector = program_.selectors[now.a];
  const std::size_t rank = selector.dimensions.size();
  BlockPlace place;
  std::vector<std::uint32_t> open;  // dimensions with `*`
  for (std::uint32_t d = 0; d < rank; ++d) {
    if (selector.dimensions[d].index == kNone) open.push_back(d);
  }
  std::vector<std::int64_t> at(rank);
  for (const std::uint32_t d : open) at[d] = geometry_.lowest(selector.array, d);
  for (;;) {
    if (const Status found = geometry_.resolve(now.a, values_, place, at.data()); !found.ok()) {
      return fail(found);
    }
    if (now.op == Opcode::deallocate) {
      store_.remove(place.array, place.number);
    } else {
      BlockPtr* block = store_.find(place.array, place.number);
      if (block == nullptr) {
        auto added = store_.add(place, 0);
        if (!added.ok()) return out_of_memory(added.status());
        block = *added;
      } else if (const Status own = pool_.make_writable(*block); !own.ok()) {
        return out_of_memory(own);
      }
      std::fill_n((*block)->data(), (*block)->elements(), 0.0);
    }
    std::size_t next = 0;
    for (; next < open.size(); ++next) {
      std::int64_t& segment = at[open[next]];
      if (++segment <= geometry_.highest(selector.array, open[next])) break;
      segment = geometry_.lowest(selector.array, open[next]);
    }
    if (next == open.size()) return Step::next;
  }
}

Worker::Step Worker::allocate_contiguous() {
  const std::uint32_t array = instruction().a;
  const std::size_t count = 2 * program_.arrays[array].indices.size();
  LocalRegion made;
  for (std::size_t i = 0; i < count; ++i) made.bounds.push_back(stack_[depth_ - count + i].i);
  auto shape = geometry_.region(array, made.bounds.data());
  if (!shape.ok()) return fail(shape.status());
  for (const LocalRegion& other : store_.regions(array)) {
    bool apart = false;
    for (std::size_t i = 0; i < count; i += 2) {
      apart = apart || made.bounds[i + 1] < other.bounds[i] || made.bounds[i] > other.bounds[i + 1];
    }
    if (apart) continue;
    return fail("R06 the region overlaps another allocated region of " +
                program_.arrays[array].name);
  }
  auto block = pool_.allocate(*shape);
  if (!block.ok()) return out_of_memory(block.status());
  made.block = std::move(*block);
  std::fill_n(made.block->data(), made.block->elements(), 0.0);
  store_.add_region(array, std::move(made));
  depth_ -= count;
  return Step::next;
}

Worker::Step Worker::deallocate_contiguous() {
  const std::uint32_t array = instruction().a;
  const std::size_t count = 2 * program_.arrays[array].indices.size();
  std::vector<std::int64_t> bounds;
  for (std::size_t i = 0; i < count; ++i) bounds.push_back(stack_[depth_ - count + i].i);
  std::vector<LocalRegion>& regions = store_.regions(array);
  const auto found = std::ranges::find(regions, bounds, &LocalRegion::bounds);
  if (found == regions.end()) {
    return fail("R06 no region of " + program_.arrays[array].name +
                " was allocated with these bounds");
  }
  store_.remove_region(array, found);
  depth_ -= count;
  return Step::next;
}

}  // namespace ob::sial
