#include "overlap/region.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ob::overlap {
namespace {

/// memcpy with a constant size is one instruction, and single elements are the usual strided case.
void copy_run(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  switch (bytes) {
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    case 16: std::memcpy(to, from, 16); break;
    default: std::memcpy(to, from, bytes);
  }
}

std::uint64_t mixed(std::uint64_t hash, std::int64_t value) noexcept {
  return (hash ^ std::uint64_t(value)) * 0x100000001b3u;  // the step of FNV-1a
}

}  // namespace

Region::Region(const FieldView& field, const Box& box, const FieldView* mask)
    : first_(field.data),
      element_bytes_(field.element_bytes),
      bytes_(std::size_t(box.cells() * field.element_bytes)),
      run_bytes_(std::size_t(field.element_bytes)),
      signature_(mixed(0xcbf29ce484222325u, field.element_bytes)) {
  std::array<int, kDims> order{};
  int used = 0;
  for (int d = 0; d < kDims; ++d) {
    first_ += box.low[d] * field.strides[d];
    if (box.extent(d) != 1) order[used++] = d;
  }
  std::stable_sort(order.begin(), order.begin() + used, [&](int a, int b) {
    return std::abs(field.strides[a]) > std::abs(field.strides[b]);
  });
  for (int i = 0; i < used; ++i)
    signature_ = mixed(mixed(signature_, order[i]), box.extent(order[i]));
  if (mask != nullptr) {
    select(field, box, *mask, {order.data(), std::size_t(used)});
    return;
  }
  // Dimensions from the fastest on that follow each other without a gap are one run.
  while (used > 0 && field.strides[order[used - 1]] == std::int64_t(run_bytes_))
    run_bytes_ *= std::size_t(std::max<std::int64_t>(0, box.extent(order[--used])));
  loops_ = used;
  // The loops fill the last places, so that for_each_run's innermost loop is the fastest one.
  for (int i = 0; i < used; ++i) {
    counts_[kDims - used + i] = box.extent(order[i]);
    steps_[kDims - used + i] = field.strides[order[i]];
  }
}

void Region::select(const FieldView& field, const Box& box, const FieldView& mask,
                    Dimensions order) {
  const std::int64_t cells = box.cells();
  bytes_ = 0;
  bool was_marked = false;
  Index i = box.low;
  for (std::int64_t n = 0; n < cells; ++n) {
    std::int64_t at = 0;
    std::int64_t mark = 0;
    for (int d = 0; d < kDims; ++d) {
      at += i[d] * field.strides[d];
      mark += i[d] * mask.strides[d];
    }
    const bool is_marked = mask.data[mark] != std::byte{0};
    if (is_marked) add_cell(field.data + at);
    if (is_marked != was_marked) signature_ = mixed(signature_, n);
    was_marked = is_marked;
    for (std::size_t k = order.size(); k-- > 0;) {
      if (++i[order[k]] < box.high[order[k]]) break;
      i[order[k]] = box.low[order[k]];
    }
  }
  join_runs();
}

void Region::add_cell(std::byte* cell) {
  bytes_ += std::size_t(element_bytes_);
  if (!runs_.empty() && runs_.back().first + runs_.back().bytes == cell)
    runs_.back().bytes += std::size_t(element_bytes_);
  else
    runs_.push_back({cell, std::size_t(element_bytes_), 1, 0});
}

void Region::join_runs() {
  std::size_t kept = 0;
  for (const Runs& next : runs_) {
    Runs* const last = kept == 0 ? nullptr : &runs_[kept - 1];
    const bool follows = last != nullptr && last->bytes == next.bytes &&
                         (last->count == 1 || last->first + last->count * last->step == next.first);
    if (!follows) {
      runs_[kept++] = next;
      continue;
    }
    if (last->count++ == 1) last->step = next.first - last->first;
  }
  runs_.resize(kept);
  runs_.shrink_to_fit();
  if (runs_.size() != 1 || runs_.front().count != 1) return;
  first_ = runs_.front().first;
  run_bytes_ = runs_.front().bytes;
  runs_.clear();
}

template <class Copy>
void Region::for_each_run(Copy&& copy) const noexcept {
  if (bytes_ == 0) return;
  for (const Runs& runs : runs_) {
    std::byte* at = runs.first;
    for (std::int64_t n = 0; n < runs.count; ++n, at += runs.step) copy(at, runs.bytes);
  }
  if (!runs_.empty()) return;
  for (std::int64_t a = 0; a < counts_[0]; ++a)
    for (std::int64_t b = 0; b < counts_[1]; ++b)
      for (std::int64_t c = 0; c < counts_[2]; ++c) {
        std::byte* at = first_ + a * steps_[0] + b * steps_[1] + c * steps_[2];
        for (std::int64_t d = 0; d < counts_[3]; ++d, at += steps_[3]) copy(at, run_bytes_);
      }
}

void Region::pack(std::byte* out) const noexcept {
  for_each_run([&](const std::byte* cells, std::size_t bytes) {
    copy_run(out, cells, bytes);
    out += bytes;
  });
}

void Region::unpack(const std::byte* in) const noexcept {
  for_each_run([&](std::byte* cells, std::size_t bytes) {
    copy_run(cells, in, bytes);
    in += bytes;
  });
}

}  // namespace ob::overlap
