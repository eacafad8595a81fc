// Random histories of contractions on a device, mixed with work on the host. The oracle keeps the
// elements in plain vectors. All numbers are small integers, so every order of additions is exact.

#include "sial/devices/device_place.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "backend/cpu/backend.hpp"
#include "sial/operations/operations.hpp"
#include "support/forwarding_device.hpp"
#include "support/random.hpp"

namespace ob::sial::test {
namespace {

using ob::test::ForwardingDevice;
using ob::test::fresh_random;
using ob::test::uniform;

using Labels = std::vector<std::uint32_t>;

constexpr std::array<std::int64_t, 6> kExtents{2, 3, 1, 4, 2, 3};  // of each label
// The largest element that may be multiplied: sums of products stay exact far beyond it.
constexpr double kLargest = 1e6;

Shape shape_of(const Labels& labels) {
  Shape shape;
  shape.rank = static_cast<unsigned>(labels.size());
  for (unsigned d = 0; d < shape.rank; ++d) shape.extents[d] = kExtents[labels[d]];
  return shape;
}

// A block and what its elements must be.
struct Known {
  Labels labels;
  BlockPtr block;
  std::vector<double> elements;

  LabelledBlock labelled() const {
    LabelledBlock made{block, {}, 0};
    std::copy(labels.begin(), labels.end(), made.labels.begin());
    return made;
  }
  // The number of the element at these values of the labels.
  std::size_t at(const std::map<std::uint32_t, std::int64_t>& position) const {
    std::int64_t number = 0;
    std::int64_t stride = 1;
    for (const std::uint32_t label : labels) {
      number += position.at(label) * stride;
      stride *= kExtents[label];
    }
    return static_cast<std::size_t>(number);
  }
};

// Computes D by loops over all labels.
void expect_contraction(Known& d, const Known& b1, const Known& b2, Assign how) {
  if (how == Assign::set) std::fill(d.elements.begin(), d.elements.end(), 0.0);
  const double sign = how == Assign::subtract ? -1 : 1;
  std::map<std::uint32_t, std::int64_t> position;
  for (const Known* one : {&b1, &b2}) {
    for (const std::uint32_t label : one->labels) position[label] = 0;
  }
  for (;;) {
    d.elements[d.at(position)] +=
        sign * b1.elements[b1.at(position)] * b2.elements[b2.at(position)];
    auto next = position.begin();
    for (; next != position.end(); ++next) {
      if (++next->second < kExtents[next->first]) break;
      next->second = 0;
    }
    if (next == position.end()) return;
  }
}

bool small(const Known& known) {
  return std::ranges::all_of(known.elements, [](double x) { return std::fabs(x) < kLargest; });
}

class History {
 public:
  History(std::mt19937_64& random, Device& device, const DevicePlaceOptions& options)
      : random_(random) {
    const std::shared_ptr<Device> unowned(&device, [](Device*) {});
    PlaceRates rates;
    if (uniform(random, 0, 1) != 0) rates.device_copy_bytes = 1e12;  // the device permutes
    auto opened = DevicePlace::open(unowned, rates, options, gemm_);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    place_ = std::move(*opened);
    for (int i = 0; i < 12; ++i) add_block();
  }

  DevicePlace& place() { return *place_; }

  void step() {
    switch (uniform(random_, 0, 9)) {
      case 0: return scale_on_host(pick());
      case 1: return fill_with_value(pick());
      case 2: return check(pick());
      case 3: return replace(pick());
      default: return contract_some();
    }
  }

  void check_all() {
    for (const Known& known : blocks_) check(known);
  }

  int on_device = 0;

 private:
  Known& pick() { return blocks_[uniform<std::size_t>(random_, 0, blocks_.size() - 1)]; }

  void add_block() {
    Labels labels;
    for (std::uint32_t label = 0; label < kExtents.size(); ++label) {
      if (uniform(random_, 0, 1) != 0) labels.push_back(label);
    }
    std::shuffle(labels.begin(), labels.end(), random_);
    Known known{labels, nullptr, {}};
    known.block = std::move(pool_.allocate(shape_of(labels)).value());
    refill(known);
    blocks_.push_back(std::move(known));
  }

  void refill(Known& known) {
    known.elements.resize(static_cast<std::size_t>(known.block->elements()));
    for (double& element : known.elements) element = uniform(random_, -3, 3);
    known.block->discard();
    std::copy(known.elements.begin(), known.elements.end(), known.block->data());
  }

  // A holder of the block, as a contraction that may be repeated is, keeps the former elements.
  void own(Known& known, bool updates) {
    if (known.block.use_count() == 1) {
      if (!updates) known.block->discard();
      return;
    }
    known.block = updates ? std::move(pool_.copy(*known.block).value())
                          : std::move(pool_.allocate(known.block->shape()).value());
  }

  void scale_on_host(Known& known) {
    own(known, true);
    double* const data = known.block->data();
    for (std::size_t i = 0; i < known.elements.size(); ++i) {
      data[i] *= -1;
      known.elements[i] *= -1;
    }
  }

  void fill_with_value(Known& known) {
    own(known, false);
    const double value = uniform(random_, -2, 2);
    std::fill_n(known.block->data(), known.block->elements(), value);
    known.block->set_value(value);
    std::fill(known.elements.begin(), known.elements.end(), value);
  }

  void replace(Known& known) {
    known.block = std::move(pool_.allocate(known.block->shape()).value());
    refill(known);
  }

  void check(const Known& known) {
    const double* const data = std::as_const(*known.block).data();
    ASSERT_TRUE(place_->broken().ok()) << place_->broken().message();
    for (std::size_t i = 0; i < known.elements.size(); ++i) {
      ASSERT_EQ(data[i], known.elements[i])
          << "element " << i << " of rank " << known.labels.size();
    }
  }

  // D has the labels that are in one operand only; those of extent 1 may be missing or doubled.
  void contract_some() {
    for (int tries = 0; tries < 100; ++tries) {
      Known& d = pick();
      Known& b1 = pick();
      Known& b2 = pick();
      if (&d == &b1 || &d == &b2 || &b1 == &b2 || !fits(d, b1, b2)) continue;
      if (!small(b1) || !small(b2)) continue;
      const auto how = static_cast<Assign>(uniform(random_, 0, 2));
      own(d, how != Assign::set);
      // A plan that was made for other blocks is made anew.
      DevicePlan& plan = plans_[{d.labels, b1.labels, b2.labels}];
      const bool ran = place_->contract(*d.block, d.labelled(), b1.labelled(), b2.labelled(), how,
                                        uniform<std::uint64_t>(random_, 1, 9), false, plan);
      on_device += ran ? 1 : 0;
      if (!ran) contract_on_host(d, b1, b2, how);
      expect_contraction(d, b1, b2, how);
      return;
    }
  }

  void contract_on_host(Known& d, const Known& b1, const Known& b2, Assign how) {
    const auto view = [](const Known& known) {
      const LabelledBlock labelled = known.labelled();
      return view_of(labelled, dense_strides(known.block->shape()),
                     std::as_const(*known.block).data());
    };
    const ConstView left = view(b1);
    const ConstView right = view(b2);
    const ConstView shape = view(d);
    View to{d.block->data(), shape.rank, shape.extents, shape.strides, shape.labels, shape.simple};
    ASSERT_TRUE(contract(to, left, right, how, gemm_, scratch_).ok());
  }

  static bool fits(const Known& d, const Known& b1, const Known& b2) {
    for (std::uint32_t label = 0; label < kExtents.size(); ++label) {
      const auto has = [&](const Known& known) {
        return std::ranges::count(known.labels, label) != 0 ? 1 : 0;
      };
      if (has(d) + has(b1) + has(b2) != 2 && has(d) + has(b1) + has(b2) != 0) return false;
    }
    return true;
  }

  std::mt19937_64& random_;
  LoopGemm gemm_;
  Scratch scratch_;
  BlockPool pool_;
  std::unique_ptr<DevicePlace> place_;
  std::vector<Known> blocks_;
  std::map<std::array<Labels, 3>, DevicePlan> plans_;
};

class DevicePlaceTest : public ::testing::Test {
 protected:
  std::mt19937_64 random_ = fresh_random();
  std::unique_ptr<Device> cpu_ = cpu::create({.memory_bytes = 1 << 26, .threads = 1}).value();
};

TEST_F(DevicePlaceTest, BlocksHaveTheirLatestElementsEverywhere) {
  int on_device = 0;
  for (int round = 0; round < 40; ++round) {
    DevicePlaceOptions options{.place = Place::device};
    // Some histories do not fit on the device, and some may hardly keep operands.
    if (round % 2 == 1) options.memory_bytes = uniform<std::uint64_t>(random_, 500, 4000);
    if (round % 3 == 1) options.held_bytes = uniform<std::uint64_t>(random_, 1, 3000);
    History history(random_, *cpu_, options);
    for (int step = 0; step < 150; ++step) history.step();
    history.check_all();
    on_device += history.on_device;
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(on_device, 500);
}

TEST_F(DevicePlaceTest, ADeviceThatDiesLosesNothing) {
  int on_device = 0;
  for (int round = 0; round < 60; ++round) {
    ForwardingDevice dying(*cpu_);
    {
      History history(random_, dying, {.place = Place::device});
      dying.fail_operation(uniform(random_, 1, 200), Status(Code::connection_lost, "it is dead"));
      for (int step = 0; step < 150; ++step) history.step();
      history.check_all();
      on_device += history.on_device;
      if (HasFatalFailure()) return;
    }
    EXPECT_EQ(dying.buffers(), 0);
  }
  EXPECT_GT(on_device, 500);
}

TEST_F(DevicePlaceTest, NoMemoryThereLeavesTheContractionToTheHost) {
  History history(random_, *cpu_, {.place = Place::device, .memory_bytes = 8});
  for (int step = 0; step < 50; ++step) history.step();
  history.check_all();
  EXPECT_EQ(history.on_device, 0);
  EXPECT_TRUE(history.place().lost().ok());
}

// A block on the device in an order of its own must come back in the order of the program.
TEST_F(DevicePlaceTest, AnOperandTravelsOnceForManyContractions) {
  LoopGemm gemm;
  BlockPool pool;
  const std::shared_ptr<Device> device(cpu_.get(), [](Device*) {});
  auto place = std::move(DevicePlace::open(device, {}, {.place = Place::device}, gemm).value());
  const auto block = [&](double value) {
    BlockPtr made = std::move(pool.allocate({2, {8, 8}}).value());
    std::fill_n(made->data(), made->elements(), value);
    return made;
  };
  const BlockPtr a = block(1);
  const BlockPtr b = block(2);
  const BlockPtr d = block(0);
  d->set_value(0);
  DevicePlan plan;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(place->contract(*d, {d, {0, 1}, 0}, {a, {0, 2}, 0}, {b, {2, 1}, 0}, Assign::add, 10,
                                false, plan));
  }
  EXPECT_EQ(std::as_const(*d).data()[63], 10 * 8 * 2.0);
  const DeviceTraffic traffic = place->take_traffic();
  EXPECT_EQ(traffic.to_device_bytes, 2 * a->bytes());
  EXPECT_EQ(traffic.to_host_bytes, d->bytes());
}

// D(k,i,j) = A(k,l,i) B(l,j): whatever the layout, no gemm takes all three as they are.
TEST_F(DevicePlaceTest, ADeviceThatPermutesGetsABlockOnce) {
  LoopGemm gemm;
  BlockPool pool;
  const std::shared_ptr<Device> device(cpu_.get(), [](Device*) {});
  for (const bool permutes : {false, true}) {
    PlaceRates rates;
    if (permutes) rates.device_copy_bytes = 1e12;
    auto place =
        std::move(DevicePlace::open(device, rates, {.place = Place::device}, gemm).value());
    const auto block = [&](const Shape& shape) {
      BlockPtr made = std::move(pool.allocate(shape).value());
      for (std::int64_t i = 0; i < made->elements(); ++i) made->data()[i] = uniform(random_, -9, 9);
      return made;
    };
    const BlockPtr a = block({3, {3, 4, 5}});
    const BlockPtr b = block({2, {5, 6}});
    const BlockPtr b2 = block({2, {4, 6}});
    const BlockPtr c = block({3, {5, 4, 3}});
    const auto run = [&](const LabelledBlock& left, const LabelledBlock& right,
                         std::array<std::uint32_t, kMaxRank> labels, const Shape& shape) {
      const BlockPtr d = block(shape);
      DevicePlan plan;
      ASSERT_TRUE(place->contract(*d, {d, labels, 0}, left, right, Assign::set, 1, false, plan));
      const BlockPtr expected = block(shape);
      const auto view = [](const LabelledBlock& of) {
        return view_of(of, dense_strides(of.block->shape()), std::as_const(*of.block).data());
      };
      const ConstView like = view({expected, labels, 0});
      const View to{expected->data(), like.rank, like.extents, like.strides, like.labels, 0};
      Scratch scratch;
      ASSERT_TRUE(contract(to, view(left), view(right), Assign::set, gemm, scratch).ok());
      for (std::int64_t i = 0; i < d->elements(); ++i) {
        ASSERT_EQ(std::as_const(*d).data()[i], std::as_const(*expected).data()[i]);
      }
    };
    // A as it is; summed over its middle index; and over its outer ones in the other order.
    run({a, {0, 1, 2}, 0}, {b, {2, 3}, 0}, {0, 1, 3}, {3, {3, 4, 6}});
    run({a, {0, 1, 2}, 0}, {b2, {1, 3}, 0}, {0, 3, 2}, {3, {3, 6, 5}});
    run({a, {0, 1, 2}, 0}, {c, {2, 3, 0}, 0}, {1, 3}, {2, {4, 4}});
    const DeviceTraffic traffic = place->take_traffic();
    EXPECT_EQ(traffic.permuted > 0, permutes);
    if (permutes) {
      EXPECT_EQ(traffic.to_device_bytes, a->bytes() + b->bytes() + b2->bytes() + c->bytes());
    }
  }
}

TEST_F(DevicePlaceTest, MeasuredRatesSayWhetherADevicePermutes) {
  LoopGemm gemm;
  const auto able = measure_rates(*cpu_, gemm);
  ASSERT_TRUE(able.ok()) << able.status().message();
  EXPECT_GT(able->device_copy_bytes, 0);
  ForwardingDevice older(*cpu_);
  older.lack("dpermute");
  const auto unable = measure_rates(older, gemm);
  ASSERT_TRUE(unable.ok()) << unable.status().message();
  EXPECT_EQ(unable->device_copy_bytes, 0);
  EXPECT_GT(unable->device_flops, 0);
}

TEST_F(DevicePlaceTest, APlanIsMadeAnewForOtherSizes) {
  LoopGemm gemm;
  BlockPool pool;
  const std::shared_ptr<Device> device(cpu_.get(), [](Device*) {});
  auto place = std::move(DevicePlace::open(device, {}, {.place = Place::device}, gemm).value());
  DevicePlan plan;
  for (const std::int64_t extent : {4, 9, 4, 2, 30}) {
    const auto block = [&](std::int64_t columns, double value) {
      BlockPtr made = std::move(pool.allocate({2, {extent, columns}}).value());
      std::fill_n(made->data(), made->elements(), value);
      return made;
    };
    const BlockPtr a = block(extent, 1);
    const BlockPtr b = block(extent + 1, 3);
    const BlockPtr d = block(extent + 1, 0);
    ASSERT_TRUE(place->contract(*d, {d, {0, 1}, 0}, {a, {0, 2}, 0}, {b, {2, 1}, 0}, Assign::set, 1,
                                false, plan));
    const double* const elements = std::as_const(*d).data();
    for (std::int64_t i = 0; i < d->elements(); ++i) {
      ASSERT_EQ(elements[i], 3.0 * static_cast<double>(extent)) << "extent " << extent;
    }
  }
}

// Devices clear the memory that they give out, which takes longer than a small contraction.
TEST_F(DevicePlaceTest, ResultsTakeTheMemoryOfFormerOnes) {
  LoopGemm gemm;
  BlockPool pool;
  ForwardingDevice device(*cpu_);
  const std::shared_ptr<Device> unowned(&device, [](Device*) {});
  {
    auto place = std::move(DevicePlace::open(unowned, {}, {.place = Place::device}, gemm).value());
    const auto block = [&](double value) {
      BlockPtr made = std::move(pool.allocate({2, {6, 6}}).value());
      std::fill_n(made->data(), made->elements(), value);
      return made;
    };
    const BlockPtr a = block(1);
    const BlockPtr b = block(2);
    DevicePlan plan;
    for (int i = 0; i < 20; ++i) {
      const BlockPtr d = block(7);
      ASSERT_TRUE(place->contract(*d, {d, {0, 1}, 0}, {a, {0, 2}, 0}, {b, {2, 1}, 0}, Assign::set,
                                  1, false, plan));
      if (i % 3 == 0) {
        ASSERT_EQ(std::as_const(*d).data()[35], 12.0);
      }
    }
    EXPECT_EQ(device.allocations(), 3);  // of a, b and all results
  }
  EXPECT_EQ(device.buffers(), 0);
}

TEST_F(DevicePlaceTest, TheModelTakesTheFasterSide) {
  LoopGemm gemm;
  BlockPool pool;
  const std::shared_ptr<Device> device(cpu_.get(), [](Device*) {});
  PlaceRates rates;
  rates.host_flops = 1e9;
  const auto runs = [&](double device_flops, double link, bool hinted) {
    rates.device_flops = device_flops;
    rates.to_device_bytes = rates.to_host_bytes = link;
    auto place = std::move(DevicePlace::open(device, rates, {}, gemm).value());
    BlockPtr made[3];
    for (BlockPtr& one : made) {
      one = std::move(pool.allocate({2, {64, 64}}).value());
      std::fill_n(one->data(), one->elements(), 1.0);
    }
    DevicePlan plan;
    return place->contract(*made[0], {made[0], {0, 1}, 0}, {made[1], {0, 2}, 0},
                           {made[2], {2, 1}, 0}, Assign::set, 1, hinted, plan);
  };
  // The product takes 524 us on the host; each block has 32 KiB.
  EXPECT_TRUE(runs(1e12, 1e10, false));
  EXPECT_FALSE(runs(1e12, 1e8, false));    // 330 us for each block
  EXPECT_FALSE(runs(0.9e9, 1e10, false));  // 582 us
  EXPECT_TRUE(runs(0.9e9, 1e10, true));    // no more than 1.25 times longer
}

}  // namespace
}  // namespace ob::sial::test
