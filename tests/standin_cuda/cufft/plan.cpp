#include "cufft/plan.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/devices.hpp"
#include "core/memory.hpp"
#include "core/order.hpp"
#include "cufft/transform.hpp"

namespace standin::fft {
namespace {

bool real_input(cufftType type) { return type == CUFFT_R2C || type == CUFFT_D2Z; }
bool real_output(cufftType type) { return type == CUFFT_C2R || type == CUFFT_Z2D; }
bool twice(cufftType type) { return type == CUFFT_D2Z || type == CUFFT_Z2D || type == CUFFT_Z2Z; }

}  // namespace

Plan::~Plan() {
  if (own_area_ != nullptr) (void)Memory::instance().release(own_area_, "cufftDestroy");
}

cufftResult Plan::make(Layout layout) {
  const std::size_t rank = layout.n.size();
  if (rank < 1 || rank > 3) return CUFFT_INVALID_VALUE;
  std::int64_t elements = layout.batch;
  for (const std::int64_t n : layout.n) {
    if (n < 1) return CUFFT_INVALID_SIZE;
    elements *= n;
  }
  if (layout.batch < 1) return CUFFT_INVALID_SIZE;
  layout_ = std::move(layout);
  // CUDA's work area is about as large. The stand-in only overwrites it with NaN.
  work_bytes_ = static_cast<std::size_t>(elements) * (twice(layout_.type) ? 16 : 8);
  if (!automatic) return CUFFT_SUCCESS;
  own_area_ = Memory::instance().allocate(device_, work_bytes_);
  return own_area_ == nullptr ? CUFFT_ALLOC_FAILED : CUFFT_SUCCESS;
}

// `last` is the number of elements of the last dimension on this side.
Side Plan::side(const Layout& layout, const std::vector<std::int64_t>& embed, std::int64_t stride,
                std::int64_t dist, std::int64_t last, bool padded) {
  const std::size_t rank = layout.n.size();
  std::vector<std::int64_t> lengths = layout.n;
  lengths.back() = last;
  std::vector<std::int64_t> room = embed.empty() ? lengths : embed;
  if (embed.empty()) {
    if (padded) room.back() = 2 * (layout.n.back() / 2 + 1);
    stride = 1;
    dist = 1;
    for (const std::int64_t r : room) dist *= r;
  }
  Side side;
  side.steps.resize(rank);
  side.dist = dist;
  std::int64_t step = stride;
  std::int64_t index = (layout.batch - 1) * dist;
  for (std::size_t d = rank; d-- > 0;) {
    side.steps[d] = step;
    index += (lengths[d] - 1) * step;
    step *= room[d];
  }
  side.extent = index + 1;
  return side;
}

Side Plan::input_side(bool in_place) const {
  const std::int64_t n = layout_.n.back();
  return side(layout_, layout_.inembed, layout_.istride, layout_.idist,
              real_output(layout_.type) ? n / 2 + 1 : n, in_place && real_input(layout_.type));
}

Side Plan::output_side(bool in_place) const {
  const std::int64_t n = layout_.n.back();
  return side(layout_, layout_.onembed, layout_.ostride, layout_.odist,
              real_input(layout_.type) ? n / 2 + 1 : n, in_place && real_output(layout_.type));
}

cufftResult Plan::execute(const char* call, void* input, void* output, int sign) {
  Access access(call, device_);
  const auto queue = stream == nullptr ? Devices::instance().default_stream(device_)
                                       : Devices::instance().stream(stream);
  if (queue == nullptr) access.refuse("the plan's stream is gone");
  if (device_ != Devices::current()) access.refuse("the plan is of another device");
  const bool in_place = input == output;
  const std::size_t number = twice(layout_.type) ? 16 : 8;  // bytes of a complex number
  const auto bytes = [&](const Side& s, bool real) {
    return static_cast<std::size_t>(s.extent) * (real ? number / 2 : number);
  };
  const Side from = input_side(in_place);
  const Side to = output_side(in_place);
  const bool spoils = real_output(layout_.type) && !in_place;
  const std::size_t in_bytes = bytes(from, real_input(layout_.type));
  const std::size_t out_bytes = bytes(to, real_output(layout_.type));
  std::byte* in =
      access.region(input, in_bytes, in_bytes, 1, spoils ? Intent::write : Intent::read, number);
  std::byte* out = access.region(output, out_bytes, out_bytes, 1, Intent::write, number);
  void* const area = automatic ? own_area_ : work_area;
  if (area == nullptr) access.refuse("no work area");
  std::byte* work = access.region(area, work_bytes_, work_bytes_, 1, Intent::write, 16);
  if (!in_place && in < out + out_bytes && out < in + in_bytes)
    access.refuse("input and output overlap and are not the same");
  if (!access.ok()) return CUFFT_INVALID_VALUE;
  Transform transform{layout_.n, from.steps, to.steps,     layout_.batch,
                      from.dist, to.dist,    layout_.type, sign};
  Order::instance().submit(queue, access, [=, size = work_bytes_] {
    std::memset(work, 0xFF, size);
    transform.run(in, out);
    if (spoils) std::memset(in, 0xFF, in_bytes);  // allowed: see C2R in the manual
    return cudaSuccess;
  });
  return CUFFT_SUCCESS;
}

}  // namespace standin::fft
