#include "relaxation.hpp"

namespace redblack3d {
namespace {

/// Returns the seconds in a sweep that stand for one cell.
double per_cell(const Grid& grid, double relax_ms) {
  const auto [nz, ny, nx] = grid.extents;
  return relax_ms * 1e-3 / 2 / double(nz * ny * nx);
}

}  // namespace

Relaxation::Relaxation(Grid& grid, int threads, double relax_ms)
    : grid_(grid),
      threads_(relax_ms > 0 ? 1 : threads),
      sleep_s_per_cell_(per_cell(grid, relax_ms)),
      step_(threads_) {
  for (int i = 1; i < threads_; ++i) others_.emplace_back([this, i] { work(i); });
}

Relaxation::~Relaxation() {
  over_ = true;
  step_.arrive_and_wait();
  for (std::thread& other : others_) other.join();
}

void Relaxation::operator()(int colour, const Box& box) {
  const Clock::time_point begin = Clock::now();
  if (sleep_s_per_cell_ > 0) {
    sleep(box);
  } else {
    colour_ = colour;
    box_ = box;
    step_.arrive_and_wait();
    relax_part(0);
    step_.arrive_and_wait();
  }
  seconds_ += std::chrono::duration<double>(Clock::now() - begin).count();
}

void Relaxation::work(int thread) {
  for (;;) {
    step_.arrive_and_wait();
    if (over_) return;
    relax_part(thread);
    step_.arrive_and_wait();
  }
}

void Relaxation::relax_part(int thread) {
  Box part = box_;
  const std::int64_t rows = box_.high[1] - box_.low[1];
  part.low[1] = box_.low[1] + rows * thread / threads_;
  part.high[1] = box_.low[1] + rows * (thread + 1) / threads_;
  relax(grid_, colour_, part);
}

void Relaxation::sleep(const Box& box) {
  double cells = 1;
  for (int d = 0; d < 3; ++d) cells *= double(box.high[d] - box.low[d]);
  const double wanted = cells * sleep_s_per_cell_ - overslept_s_;
  const Clock::time_point begin = Clock::now();
  // Short sleeps end late, so later ones make up for it.
  if (wanted > 0) std::this_thread::sleep_for(std::chrono::duration<double>(wanted));
  overslept_s_ = std::chrono::duration<double>(Clock::now() - begin).count() - wanted;
}

}  // namespace redblack3d
