// Every wrong argument is refused at once, with a sentence; outputs stay as they were.

#include <array>

#include "api/fixture.hpp"

namespace ob::test {
namespace {

class ApiMistakeTest : public ApiTest {};

TEST(ApiMistakeTest, DevicesHaveNames) {
  ob_device device = nullptr;
  for (const char* where : {"", "local:", "local:gpu", "node7", "node7:7770/x", "node7:7770/",
                            "unix:", "local:cpu/99999999"}) {
    EXPECT_TRUE(fails(ob_device_open(where, nullptr, &device), OB_INVALID_ARGUMENT, "write"))
        << where;
  }
  EXPECT_TRUE(
      fails(ob_device_open("127.0.0.1:1", nullptr, &device), OB_UNAVAILABLE, "127.0.0.1:1"));
  EXPECT_EQ(last_error().origin, OB_FROM_CONNECTION);
  EXPECT_TRUE(fails(ob_device_open("local:null", nullptr, nullptr), OB_INVALID_ARGUMENT, "NULL"));
  EXPECT_EQ(device, nullptr);
}

TEST(ApiMistakeTest, StructsSayTheirSize) {
  ob_device device = nullptr;
  struct Newer {
    ob_device_options options;
    std::uint64_t later;
  } options{};
  options.options.struct_bytes = sizeof options - 9;
  EXPECT_TRUE(fails(ob_device_open("local:null", &options.options, &device), OB_INVALID_ARGUMENT,
                    "struct_bytes"));
  options.options.struct_bytes = sizeof options;
  options.later = 1;
  EXPECT_TRUE(fails(ob_device_open("local:null", &options.options, &device), OB_UNSUPPORTED,
                    "later version"));
  EXPECT_EQ(device, nullptr);
  options.later = 0;
  ASSERT_TRUE(succeeds(ob_device_open("local:null", &options.options, &device)));

  struct NewerFacts {
    ob_device_facts facts;
    std::uint64_t later;
  } facts{};
  facts.facts.struct_bytes = 7;
  EXPECT_TRUE(fails(ob_device_get_facts(device, &facts.facts), OB_INVALID_ARGUMENT, "sizeof"));
  EXPECT_TRUE(fails(ob_device_get_facts(device, nullptr), OB_INVALID_ARGUMENT, "NULL"));
  facts.facts.struct_bytes = sizeof facts;
  facts.later = 4711;
  ASSERT_TRUE(succeeds(ob_device_get_facts(device, &facts.facts)));
  EXPECT_STREQ(facts.facts.backend, "null");
  EXPECT_EQ(facts.facts.struct_bytes, sizeof facts);
  EXPECT_EQ(facts.later, 4711u);  // not the library's to set
  ob_error error{};
  EXPECT_EQ(ob_last_error(nullptr), OB_INVALID_ARGUMENT);
  EXPECT_EQ(ob_last_error(&error), OB_INVALID_ARGUMENT);
  ASSERT_TRUE(succeeds(ob_device_close(device)));
}

TEST_P(ApiMistakeTest, HandlesAreChecked) {
  const ob_buffer gone = buffer(8);
  ASSERT_TRUE(succeeds(ob_buffer_destroy(gone)));
  EXPECT_TRUE(fails(ob_buffer_destroy(gone), OB_INVALID_ARGUMENT, "destroyed"));
  EXPECT_TRUE(fails(ob_buffer_destroy(nullptr), OB_INVALID_ARGUMENT, "NULL"));
  int unrelated = 0;
  for (void* const wrong : {static_cast<void*>(queue), static_cast<void*>(&unrelated),
                            reinterpret_cast<void*>(std::uintptr_t{3})}) {
    EXPECT_TRUE(fails(ob_buffer_destroy(static_cast<ob_buffer>(wrong)), OB_INVALID_ARGUMENT, ""));
  }
  char byte = 5;
  for (const ob_buffer wrong : {gone, ob_buffer{}, reinterpret_cast<ob_buffer>(device)}) {
    EXPECT_TRUE(fails(ob_write(queue, {wrong, 0}, &byte, 1, 0), OB_INVALID_ARGUMENT, ""));
    EXPECT_TRUE(fails(ob_read(queue, &byte, {wrong, 0}, 1, OB_WAIT), OB_INVALID_ARGUMENT, ""));
    EXPECT_TRUE(fails(multiply(queue, 1, wrong, wrong, wrong), OB_INVALID_ARGUMENT, ""));
  }
  EXPECT_EQ(byte, 5);
  EXPECT_TRUE(fails(ob_queue_flush(nullptr), OB_INVALID_ARGUMENT, "queue"));
  EXPECT_TRUE(fails(ob_event_wait(nullptr, 0), OB_INVALID_ARGUMENT, "event"));
  EXPECT_TRUE(fails(ob_plan_destroy(nullptr), OB_INVALID_ARGUMENT, "plan"));
  EXPECT_TRUE(fails(ob_device_close(nullptr), OB_INVALID_ARGUMENT, "device"));
  EXPECT_TRUE(synchronized());  // none of them reached the queue
}

TEST_P(ApiMistakeTest, ObjectsOfTwoDevicesDoNotMix) {
  ob_device other = nullptr;
  ob_queue other_queue = nullptr;
  ob_event event = nullptr;
  ASSERT_TRUE(succeeds(ob_device_open("local:null", nullptr, &other)));
  ASSERT_TRUE(succeeds(ob_queue_create(other, 0, &other_queue)));
  ASSERT_TRUE(succeeds(ob_event_create(other, 0, &event)));
  const ob_buffer here = buffer(64);
  char byte = 0;
  EXPECT_TRUE(fails(ob_write(other_queue, {here, 0}, &byte, 1, 0), OB_INVALID_ARGUMENT, "two"));
  EXPECT_TRUE(fails(multiply(other_queue, 1, here, here, here), OB_INVALID_ARGUMENT, "two"));
  EXPECT_TRUE(fails(ob_event_record(event, queue), OB_INVALID_ARGUMENT, "two devices"));
  ASSERT_TRUE(succeeds(ob_device_close(other)));
  EXPECT_TRUE(fails(ob_queue_flush(other_queue), OB_INVALID_ARGUMENT, "closed"));
  EXPECT_TRUE(fails(ob_event_wait(event, 0), OB_INVALID_ARGUMENT, "closed"));
  EXPECT_TRUE(synchronized());
}

TEST_P(ApiMistakeTest, RangesAreChecked) {
  const ob_buffer some = buffer(100);
  std::array<char, 200> host{};
  const auto out = [](ob_status status) { return fails(status, OB_INVALID_ARGUMENT, "beyond"); };
  EXPECT_TRUE(out(ob_write(queue, {some, 0}, host.data(), 101, 0)));
  EXPECT_TRUE(out(ob_write(queue, {some, 100}, host.data(), 1, 0)));
  EXPECT_TRUE(out(ob_read(queue, host.data(), {some, UINT64_MAX}, 2, 0)));
  EXPECT_TRUE(out(ob_read(queue, host.data(), {some, 1}, UINT64_MAX, 0)));
  EXPECT_TRUE(out(ob_copy(queue, {some, 0}, {some, 60}, 50)));
  EXPECT_TRUE(fails(ob_copy(queue, {some, 0}, {some, 10}, 11), OB_INVALID_ARGUMENT, "overlap"));
  EXPECT_TRUE(fails(ob_write(queue, {some, 0}, nullptr, 1, 0), OB_INVALID_ARGUMENT, "no source"));
  EXPECT_TRUE(
      fails(ob_read(queue, nullptr, {some, 0}, 1, 0), OB_INVALID_ARGUMENT, "no destination"));
  ob_rect rect{.width_bytes = 8,
               .rows = 3,
               .device_pitch_bytes = 60,
               .host_pitch_bytes = 8,
               .word_bytes = 4,
               .flags = 0};
  EXPECT_TRUE(out(ob_write_2d(queue, {some, 0}, host.data(), &rect)));
  rect.device_pitch_bytes = 4;
  EXPECT_TRUE(
      fails(ob_write_2d(queue, {some, 0}, host.data(), &rect), OB_INVALID_ARGUMENT, "width"));
  rect.device_pitch_bytes = 10;
  EXPECT_TRUE(
      fails(ob_read_2d(queue, host.data(), {some, 0}, &rect), OB_INVALID_ARGUMENT, "multiple"));
  rect.word_bytes = 3;
  EXPECT_TRUE(fails(ob_read_2d(queue, host.data(), {some, 0}, &rect), OB_INVALID_ARGUMENT, "word"));
  EXPECT_TRUE(fails(ob_copy_2d(queue, {some, 0}, {some, 50}, nullptr), OB_INVALID_ARGUMENT, ""));
  EXPECT_TRUE(synchronized());
}

TEST_P(ApiMistakeTest, UnknownFlagsAreRefused) {
  const ob_buffer some = buffer(8);
  char byte = 0;
  ob_buffer buffer = nullptr;
  ob_queue queue_made = nullptr;
  ob_event event = nullptr;
  const auto refused = [](ob_status status) {
    return fails(status, OB_INVALID_ARGUMENT, "unknown flags");
  };
  EXPECT_TRUE(refused(ob_write(queue, {some, 0}, &byte, 1, OB_WAIT)));
  EXPECT_TRUE(refused(ob_read(queue, &byte, {some, 0}, 1, OB_CAPTURE)));
  EXPECT_TRUE(refused(ob_buffer_create(device, 8, OB_CAPTURE, &buffer)));
  EXPECT_TRUE(refused(ob_queue_create(device, 1, &queue_made)));
  EXPECT_TRUE(refused(ob_event_create(device, 1u << 31, &event)));
  const ob_rect rect{.width_bytes = 1,
                     .rows = 1,
                     .device_pitch_bytes = 1,
                     .host_pitch_bytes = 1,
                     .word_bytes = 0,
                     .flags = 4};
  EXPECT_TRUE(refused(ob_write_2d(queue, {some, 0}, &byte, &rect)));
  EXPECT_TRUE(refused(ob_read_2d(queue, &byte, {some, 0}, &rect)));
  EXPECT_TRUE(refused(ob_copy_2d(queue, {some, 0}, {some, 4}, &rect)));
  EXPECT_TRUE(fails(ob_buffer_create(device, 0, 0, &buffer), OB_INVALID_ARGUMENT, "0 bytes"));
  EXPECT_TRUE(fails(ob_queue_synchronize(queue, -2, nullptr), OB_INVALID_ARGUMENT, "OB_FOREVER"));
  EXPECT_TRUE(fails(ob_queue_accuracy(queue, 4), OB_INVALID_ARGUMENT, "OB_STANDARD"));
  EXPECT_TRUE(succeeds(ob_queue_accuracy(queue, OB_STRICT)));
  EXPECT_EQ(buffer, nullptr);
  EXPECT_EQ(queue_made, nullptr);
  EXPECT_EQ(event, nullptr);
}

TEST_P(ApiMistakeTest, CallsAreChecked) {
  const ob_buffer a = buffer(9 * 8), small = buffer(8 * 8);
  std::array good{flag('N'), flag('N'), number(3), number(3), number(3),
                  real(1),   at(a, 3),  at(a, 3),  real(0),   at(small, 3)};
  const auto call = [&](const auto& operands) {
    return ob_call(queue, "dgemm", operands.data(), operands.size());
  };
  EXPECT_TRUE(fails(call(good), OB_INVALID_ARGUMENT, "argument c of dgemm reaches beyond"));
  good[9] = at(a, 3);
  EXPECT_TRUE(fails(call(good), OB_INVALID_ARGUMENT, "overlaps"));
  EXPECT_STREQ(last_error().name, "dgemm");
  good[9] = at(nullptr, 3);
  EXPECT_TRUE(fails(call(good), OB_INVALID_ARGUMENT, "in no buffer"));
  auto wrong = good;
  wrong[0] = flag('X');
  EXPECT_TRUE(fails(call(wrong), OB_INVALID_ARGUMENT, "illegal"));
  wrong = good;
  wrong[6] = at(a, 2);
  EXPECT_TRUE(fails(call(wrong), OB_INVALID_ARGUMENT, "illegal"));
  wrong = good;
  wrong[2] = number(INT64_MAX);
  EXPECT_TRUE(fails(call(wrong), OB_UNSUPPORTED, "beyond"));
  wrong = good;
  wrong[2] = wrong[3] = wrong[4] = number(2);
  wrong[6] = at(a, 2, 4);
  EXPECT_TRUE(fails(call(wrong), OB_INVALID_ARGUMENT, "aligned"));
  EXPECT_TRUE(fails(ob_call(queue, "dgemm", good.data(), 9), OB_INVALID_ARGUMENT, "transa"));
  EXPECT_TRUE(fails(ob_call(queue, "dgemm", nullptr, 10), OB_INVALID_ARGUMENT, "NULL"));
  EXPECT_TRUE(fails(ob_call(queue, "xgemm", good.data(), 10), OB_UNSUPPORTED, "xgemm"));
  EXPECT_TRUE(fails(ob_call(queue, nullptr, good.data(), 10), OB_INVALID_ARGUMENT, "NULL"));
  auto empty = good;
  empty[2] = number(0);
  EXPECT_TRUE(succeeds(call(empty)));  // refers to no memory of C
  EXPECT_TRUE(synchronized());
}

TEST_P(ApiMistakeTest, TransformsAreChecked) {
  ob_fft good{};
  good.struct_bytes = sizeof good;
  good.precision = OB_DOUBLE;
  good.sign = -1;
  good.rank = 1;
  good.n[0] = 4;
  good.batch = 1;
  ob_plan plan = nullptr;
  const auto refused = [&](auto change) {
    ob_fft wrong = good;
    change(wrong);
    return fails(ob_plan_create(device, &wrong, &plan), OB_INVALID_ARGUMENT, "");
  };
  EXPECT_TRUE(refused([](ob_fft& fft) { fft.struct_bytes = 8; }));
  EXPECT_TRUE(refused([](ob_fft& fft) { fft.kind = 4; }));
  EXPECT_TRUE(refused([](ob_fft& fft) { fft.precision = 2; }));
  EXPECT_TRUE(refused([](ob_fft& fft) { fft.sign = 0; }));
  EXPECT_TRUE(refused([](ob_fft& fft) { fft.in_place = 2; }));
  EXPECT_TRUE(refused([](ob_fft& fft) { fft.rank = 8; }));
  EXPECT_TRUE(refused([](ob_fft& fft) { fft.rank = 0; }));
  EXPECT_TRUE(refused([](ob_fft& fft) { fft.n[0] = 0; }));
  EXPECT_TRUE(refused([](ob_fft& fft) { fft.batch = 0; }));
  EXPECT_TRUE(refused([](ob_fft& fft) { fft.kind = OB_FFT_C2R; }));  // with sign -1
  EXPECT_TRUE(refused([](ob_fft& fft) { fft.kind = OB_FFT_R2R, fft.real[0] = 11; }));
  EXPECT_TRUE(fails(ob_plan_create(device, nullptr, &plan), OB_INVALID_ARGUMENT, "NULL"));
  EXPECT_EQ(plan, nullptr);
  ASSERT_TRUE(succeeds(ob_plan_create(device, &good, &plan)));
  const ob_buffer some = buffer(127);
  EXPECT_TRUE(
      fails(ob_plan_execute(plan, queue, {some, 0}, {some, 64}), OB_INVALID_ARGUMENT, "beyond"));
  const ob_buffer large = buffer(1000);
  EXPECT_TRUE(
      fails(ob_plan_execute(plan, queue, {large, 0}, {large, 56}), OB_INVALID_ARGUMENT, "overlap"));
  EXPECT_TRUE(
      fails(ob_plan_execute(plan, queue, {large, 0}, {large, 0}), OB_INVALID_ARGUMENT, "equal"));
  EXPECT_TRUE(fails(ob_plan_execute(plan, queue, {large, 4}, {large, 200}), OB_INVALID_ARGUMENT,
                    "aligned"));
  EXPECT_TRUE(synchronized());
}

INSTANTIATE_TEST_SUITE_P(Api, ApiMistakeTest, testing::ValuesIn(kEverywhere), name_of);

}  // namespace
}  // namespace ob::test
