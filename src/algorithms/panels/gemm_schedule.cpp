#include "algorithms/panels/gemm_schedule.hpp"

#include <algorithm>
#include <iterator>

namespace ob::algorithms {
namespace {

constexpr double kLastShares[] = {0.2, 0.3, 0.4, 0.5};

class Builder {
 public:
  Builder(const ProductShape& shape, ProductOrder order) : shape_(shape) { made_.order = order; }

  // Cuts A into row panels and B into column panels.
  void panels(unsigned a_parts, unsigned b_parts) {
    rows_ = cut(shape_.m, a_parts);
    cols_ = cut(shape_.n, b_parts);
    for (const Range& r : rows_) made_.a.push_back({r.first, 0, r.count, shape_.k});
    for (const Range& c : cols_) made_.b.push_back({0, c.first, shape_.k, c.count});
  }

  void send_a(std::size_t i) {
    made_.steps.push_back({ProductStep::Kind::send_a, unsigned(i), 0, {}, false});
  }
  void send_b(std::size_t j) {
    made_.steps.push_back({ProductStep::Kind::send_b, 0, unsigned(j), {}, false});
  }
  void tile(std::size_t i, std::size_t j) {
    const Block c{rows_[i].first, cols_[j].first, rows_[i].count, cols_[j].count};
    multiply(i, j, c, false);
    fetch(c);
  }

  void whole(unsigned parts) {
    panels(parts, 1);
    send_b(0);
    for (std::size_t i = 0; i < rows_.size(); ++i) send_a(i);
    for (std::size_t i = 0; i < rows_.size(); ++i) tile(i, 0);
  }

  void b_first(unsigned parts) {
    panels(parts, 1);
    send_b(0);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      send_a(i);
      tile(i, 0);
    }
  }

  void alternating(unsigned parts) {
    panels(parts, parts);
    for (std::size_t step = 0; step < std::max(rows_.size(), cols_.size()); ++step) {
      if (step < rows_.size()) {
        send_a(step);
        for (std::size_t j = 0; j < std::min(step, cols_.size()); ++j) tile(step, j);
      }
      if (step < cols_.size()) {
        send_b(step);
        for (std::size_t i = 0; i < std::min(step + 1, rows_.size()); ++i) tile(i, step);
      }
    }
  }

  void hybrid(unsigned parts, double last_share) {
    const auto last_depth = static_cast<std::uint64_t>(last_share * static_cast<double>(shape_.k));
    std::vector<Range> depths;
    if (parts > 1 && last_depth > 0 && last_depth < shape_.k) {
      depths = cut(shape_.k - last_depth, parts - 1);
      depths.push_back({shape_.k - last_depth, last_depth});
    } else {
      depths = cut(shape_.k, parts);
    }
    rows_ = cut(shape_.m, parts);
    const Block all{0, 0, shape_.m, shape_.n};
    for (const Range& d : depths) made_.a.push_back({0, d.first, shape_.m, d.count});
    for (const Range& d : depths) made_.b.push_back({d.first, 0, d.count, shape_.n});
    for (std::size_t p = 0; p < depths.size(); ++p) {
      send_a(p);
      send_b(p);
      if (p + 1 < depths.size()) multiply(p, p, all, p > 0);
    }
    const std::size_t last = depths.size() - 1;
    for (const Range& r : rows_) {
      const Block c{r.first, 0, r.count, shape_.n};
      multiply(last, last, c, last > 0);
      fetch(c);
    }
  }

  ProductSchedule take() { return std::move(made_); }

 private:
  void multiply(std::size_t a, std::size_t b, const Block& c, bool adds) {
    made_.steps.push_back({ProductStep::Kind::multiply, unsigned(a), unsigned(b), c, adds});
  }
  void fetch(const Block& c) { made_.steps.push_back({ProductStep::Kind::fetch, 0, 0, c, false}); }

  const ProductShape& shape_;
  ProductSchedule made_;
  std::vector<Range> rows_;
  std::vector<Range> cols_;
};

double bytes_of(const Block& block, const ProductShape& shape) {
  return static_cast<double>(block.rows) * static_cast<double>(block.cols) * shape.element_bytes;
}

}  // namespace

std::string_view name_of(ProductOrder order) noexcept {
  switch (order) {
    case ProductOrder::whole: return "whole";
    case ProductOrder::b_first: return "B first";
    case ProductOrder::alternating: return "alternating";
    case ProductOrder::hybrid: return "hybrid";
  }
  return "";
}

ProductSchedule schedule_product(const ProductShape& shape, ProductOrder order, unsigned parts,
                                 double last_share) {
  Builder builder(shape, order);
  switch (order) {
    case ProductOrder::whole: builder.whole(parts); break;
    case ProductOrder::b_first: builder.b_first(parts); break;
    case ProductOrder::alternating: builder.alternating(parts); break;
    case ProductOrder::hybrid: builder.hybrid(parts, last_share); break;
  }
  return builder.take();
}

double predict(const ProductSchedule& schedule, const ProductShape& shape,
               const PipelineModel& model) {
  Timeline timeline(model);
  for (const ProductStep& step : schedule.steps) {
    switch (step.kind) {
      case ProductStep::Kind::send_a: timeline.send(bytes_of(schedule.a[step.a], shape)); break;
      case ProductStep::Kind::send_b: timeline.send(bytes_of(schedule.b[step.b], shape)); break;
      case ProductStep::Kind::multiply:
        timeline.call(shape.flop_per_term * static_cast<double>(step.c.rows) *
                      static_cast<double>(step.c.cols) *
                      static_cast<double>(schedule.a[step.a].cols));
        break;
      case ProductStep::Kind::fetch: timeline.fetch(bytes_of(step.c, shape)); break;
    }
  }
  return timeline.seconds();
}

ProductSchedule choose_schedule(const ProductShape& shape, const PipelineModel& model) {
  ProductSchedule best = schedule_product(shape, ProductOrder::whole, 1);
  double least = predict(best, shape, model);
  const auto consider = [&](ProductSchedule candidate, double must_save) {
    const double seconds = predict(candidate, shape, model);
    if (seconds >= least * must_save) return;
    least = seconds;
    best = std::move(candidate);
  };
  const std::uint64_t shortest = std::min({shape.m, shape.n, shape.k});
  const auto each_cut = [&](unsigned most, const auto& visit) {
    for (const unsigned parts : kPanelCounts) {
      if (parts > most || (parts > 1 && shortest / parts < kLeastEdge)) return;
      visit(parts);
    }
  };
  each_cut(kMostTiled, [&](unsigned parts) {
    consider(schedule_product(shape, ProductOrder::alternating, parts), 1);
  });
  const double alternating = least;
  const auto consider_other = [&](ProductSchedule candidate) {
    consider(std::move(candidate), std::min(1.0, kClearly * alternating / least));
  };
  for (const ProductOrder order : {ProductOrder::whole, ProductOrder::b_first}) {
    each_cut(kMostTiled,
             [&](unsigned parts) { consider_other(schedule_product(shape, order, parts)); });
  }
  each_cut(kPanelCounts[std::size(kPanelCounts) - 1], [&](unsigned parts) {
    consider_other(schedule_product(shape, ProductOrder::hybrid, parts));
    for (const double share : kLastShares) {
      consider_other(schedule_product(shape, ProductOrder::hybrid, parts, share));
    }
  });
  return best;
}

}  // namespace ob::algorithms
