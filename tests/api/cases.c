/* The functions of the device API in C11, in the cases of fortran.f90. The argument names the
   device. cases_test.py compares the functions that the programs of each language call. */
#include <math.h>
#include <outboard/device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kPoints = 64, kBytes = kPoints * 8 };

static ob_device device;
static ob_queue queue;

static void expect(int right, const char* what) {
  if (right) return;
  fprintf(stderr, "wrong: %s\n", what);
  exit(1);
}
static void check(ob_status status) {
  ob_error error = {.struct_bytes = sizeof error};
  if (status == OB_OK) return;
  ob_last_error(&error);
  fprintf(stderr, "failed with code %d: %s\n", (int)error.code, error.message);
  exit(1);
}
static ob_place buffer_of(uint64_t bytes) {
  ob_place place = {0};
  check(ob_buffer_create(device, bytes, 0, &place.buffer));
  return place;
}

static void facts_are_read(void) {
  ob_device_facts facts = {.struct_bytes = sizeof facts};
  check(ob_device_get_facts(device, &facts));
  expect(facts.memory_bytes > 1 << 20, "memory_bytes");
  expect(facts.gflops_double >= 0, "gflops_double");
  expect(facts.big_endian <= 1 && facts.kernels <= 1 && facts.peers <= 1, "facts of one bit");
  expect(facts.backend[0] != 0 && facts.description[0] != 0, "texts");
  expect(ob_api() >> 16 == OB_API >> 16, "ob_api");
}

static void complex_scalars_are_right(void) {
  double x[6] = {1, 2, 3, 4, 5, 6}, scaled[6];
  const double expected[6] = {-4, 2, -8, 6, -12, 10}, factor[2] = {0, 2};
  const ob_place on_x = buffer_of(sizeof x);
  const ob_operand operands[] = {
      {.value.integer = 3}, {.value.pair = factor}, {.value.place = on_x, .ld = 1}};
  check(ob_queue_accuracy(queue, OB_STRICT));
  check(ob_write(queue, on_x, x, sizeof x, 0));
  check(ob_call(queue, "zscal", operands, 3));
  check(ob_read(queue, scaled, on_x, sizeof x, OB_WAIT));
  check(ob_queue_accuracy(queue, OB_STANDARD));
  expect(memcmp(scaled, expected, sizeof expected) == 0, "complex scalars");
}

/* The block of rows 1 to 3 and columns 2 to 5 of a column-major matrix, there and back. */
static void rectangles_are_copied(void) {
  float a[8][9], b[8][5];
  const ob_place on_a = buffer_of(3 * 4 * 4);
  ob_rect rect = {3 * 4, 4, 3 * 4, 9 * 4, 4, 0};
  for (int j = 0; j < 8; ++j) {
    for (int i = 0; i < 9; ++i) a[j][i] = 10.F * (float)i + (float)j;
    for (int i = 0; i < 5; ++i) b[j][i] = -1;
  }
  check(ob_write_2d(queue, on_a, &a[2][1], &rect));
  rect.host_pitch_bytes = 5 * 4;
  rect.flags = OB_WAIT;
  check(ob_read_2d(queue, b, on_a, &rect));
  for (int j = 0; j < 8; ++j) {
    for (int i = 0; i < 5; ++i) {
      const float expected = j < 4 && i < 3 ? a[j + 2][i + 1] : -1;
      expect(b[j][i] == expected, "a rectangle, and nothing beside it");
    }
  }
}

/* Every second number, then all; the copy of a device that the host maps lies in its memory. */
static void copies_stay_on_the_device(void) {
  double x[kPoints], y[kPoints];
  void* mapped = NULL;
  const ob_place from = buffer_of(kBytes), half = buffer_of(kBytes), whole = buffer_of(kBytes);
  const ob_rect every_second = {8, kPoints / 2, 16, 16, 8, 0};
  const double none = -1;
  for (int i = 0; i < kPoints; ++i) x[i] = i;
  check(ob_write(queue, from, x, kBytes, 0));
  check(ob_fill(queue, half, &none, 8, kPoints));
  check(ob_copy_2d(queue, half, from, &every_second));
  check(ob_copy(queue, whole, half, kBytes));
  check(ob_read(queue, y, whole, kBytes, OB_WAIT));
  for (int i = 0; i < kPoints; ++i) expect(y[i] == (i % 2 == 0 ? i : -1), "copies on the device");
  ob_device_facts facts = {.struct_bytes = sizeof facts};
  check(ob_device_get_facts(device, &facts));
  const ob_status status = ob_buffer_map(whole.buffer, &mapped);
  expect(status == (facts.host_visible ? OB_OK : OB_UNSUPPORTED), "whether memory is mapped");
  expect(status != OB_OK || memcmp(mapped, y, kBytes) == 0, "mapped memory");
  check(ob_buffer_destroy(from.buffer));
  check(ob_buffer_destroy(half.buffer));
  check(ob_buffer_destroy(whole.buffer));
}

/* The transform of a wave has one element. */
static void transforms_are_right(void) {
  double wave[2 * kPoints], spectrum[2 * kPoints];
  const double pi = acos(-1);
  const ob_place in = buffer_of(sizeof wave), out = buffer_of(sizeof wave);
  const ob_fft transform = {.struct_bytes = sizeof transform,
                            .kind = OB_FFT_C2C,
                            .precision = OB_DOUBLE,
                            .sign = -1,
                            .rank = 1,
                            .n = {kPoints},
                            .batch = 1};
  ob_plan plan;
  ob_event event;
  for (int i = 0; i < kPoints; ++i) {
    wave[2 * i] = cos(2 * pi * 5 * i / kPoints);
    wave[2 * i + 1] = sin(2 * pi * 5 * i / kPoints);
  }
  check(ob_plan_create(device, &transform, &plan));
  check(ob_event_create(device, 0, &event));
  check(ob_write(queue, in, wave, sizeof wave, 0));
  check(ob_plan_execute(plan, queue, in, out));
  check(ob_read(queue, spectrum, out, sizeof wave, 0));
  check(ob_event_record(event, queue));
  check(ob_event_wait(event, OB_FOREVER));
  spectrum[10] -= kPoints;
  for (int i = 0; i < 2 * kPoints; ++i) expect(fabs(spectrum[i]) < 1e-10, "a transform");
  check(ob_plan_destroy(plan));
  check(ob_event_destroy(event));
}

static void count_up(void* user, const ob_report* report) {
  if (report->error.code == OB_OK) ++*(int*)user;
}

/* A callback runs after the commands before it, and the end of the queue waits for it. */
static void fills_and_callbacks_work(void) {
  int64_t numbers[kPoints] = {0};
  const int64_t pattern = 81985529216486895;
  int called = 0, fd = -1;
  uint64_t elapsed_ns = UINT64_MAX;
  ob_event before, after;
  const ob_place on = buffer_of(kBytes);
  check(ob_event_create(device, OB_TIMED, &before));
  check(ob_event_create(device, OB_TIMED, &after));
  check(ob_event_record(before, queue));
  check(ob_fill(queue, on, &pattern, 8, kPoints));
  check(ob_event_record(after, queue));
  check(ob_queue_callback(queue, count_up, &called));
  check(ob_read(queue, numbers, on, kBytes, OB_WAIT));
  for (int i = 0; i < kPoints; ++i) expect(numbers[i] == pattern, "a fill");
  check(ob_event_fd(after, &fd));
  expect(fd >= 0, "a descriptor");
  check(ob_event_wait(after, OB_FOREVER));
  check(ob_event_elapsed_ns(before, after, &elapsed_ns));
  expect(elapsed_ns < UINT64_C(60000000000), "a time between events");
  check(ob_event_destroy(before));
  check(ob_event_destroy(after));
  check(ob_queue_destroy(queue));
  expect(called == 1, "a callback");
  check(ob_queue_create(device, 0, &queue));
}

static ob_argument buffer_argument(ob_place place, uint32_t access) {
  return (ob_argument){.kind = OB_ARGUMENT_BUFFER, .as.place = place, .access = access};
}

/* Where kernels run: y[i] += 3 x[i], for small integers. */
static void kernels_run(void) {
  const char* source =
      "__kernel void axpy(double a, __global const double* x, __global double* y) {"
      "  y[get_global_id(0)] += a * x[get_global_id(0)]; }";
  const ob_variant variant = {OB_PORTABLE, 0, source, 0, NULL};
  double x[kPoints], y[kPoints], factor = 3;
  const uint32_t groups[3] = {kPoints / 16, 1, 1}, size[3] = {16, 1, 1};
  ob_device_facts facts = {.struct_bytes = sizeof facts};
  ob_module module;
  ob_kernel kernel;
  check(ob_device_get_facts(device, &facts));
  if (!facts.kernels) {
    expect(ob_module_load(device, &variant, 1, NULL, &module) == OB_UNSUPPORTED, "no kernels");
    return;
  }
  const ob_place on_x = buffer_of(kBytes), on_y = buffer_of(kBytes);
  const ob_argument arguments[] = {
      {.kind = OB_ARGUMENT_SCALAR, .bytes = sizeof factor, .as.value = &factor},
      buffer_argument(on_x, OB_ACCESS_READ),
      buffer_argument(on_y, 0),
  };
  for (int i = 0; i < kPoints; ++i) x[i] = i, y[i] = 7 * i;
  check(ob_module_load(device, &variant, 1, NULL, &module));
  check(ob_kernel_create(module, "axpy", &kernel));
  for (uint32_t i = 0; i < 3; ++i) check(ob_kernel_set(kernel, i, &arguments[i]));
  check(ob_write(queue, on_x, x, kBytes, 0));
  check(ob_write(queue, on_y, y, kBytes, 0));
  check(ob_kernel_run(kernel, queue, groups, size));
  check(ob_read(queue, y, on_y, kBytes, OB_WAIT));
  for (int i = 0; i < kPoints; ++i) expect(y[i] == 10 * i, "a kernel");
  size_t log_bytes = 0;
  ob_parameter parameter = {.struct_bytes = sizeof parameter};
  check(ob_module_wait(module, OB_FOREVER));
  check(ob_module_log(module, NULL, &log_bytes));
  expect(log_bytes >= 1, "the size of a log");
  check(ob_kernel_get_parameter(kernel, 1, &parameter));
  expect(parameter.kind == OB_ARGUMENT_BUFFER && parameter.bytes == 8, "a parameter");
  expect(parameter.read_only == 1 && parameter.count == 3, "a read-only parameter");
  expect(strcmp(parameter.type, "double*") == 0 && strcmp(parameter.name, "x") == 0, "its texts");
  check(ob_kernel_destroy(kernel));
  check(ob_module_unload(module));
}

static void leases_are_asked_for(void) {
  ob_request request = {.struct_bytes = sizeof request};
  ob_lease lease = NULL;
  ob_device other;
  expect(ob_lease_acquire(&request, &lease) == OB_INVALID_ARGUMENT, "a lease of 0 devices");
  request.count = 1;
  expect(ob_lease_acquire(&request, &lease) == OB_INVALID_ARGUMENT, "no pool is named");
  expect(ob_lease_grow(lease, 1, -1) == OB_INVALID_ARGUMENT, "no lease");
  expect(ob_lease_shrink(lease, device) == OB_INVALID_ARGUMENT, "no lease");
  expect(ob_lease_device(lease, 0, &other) == OB_INVALID_ARGUMENT, "no lease");
  expect(ob_lease_watch(lease, NULL, NULL) == OB_INVALID_ARGUMENT, "no lease");
  expect(ob_lease_release(lease) == OB_INVALID_ARGUMENT, "no lease");
}

static void failures_are_described(void) {
  double x[2];
  ob_error error = {.struct_bytes = sizeof error};
  const ob_place on_x = buffer_of(8);
  expect(ob_read(queue, x, on_x, sizeof x, 0) == OB_INVALID_ARGUMENT, "a refusal");
  check(ob_last_error(&error));
  expect(error.code == OB_INVALID_ARGUMENT && error.origin == OB_FROM_CALLER, "an error");
  expect(strstr(error.message, "16 bytes") != NULL, error.message);
}

static void options_are_read(void) {
  const ob_device_options options = {.struct_bytes = sizeof options, .streams = 17};
  ob_device other;
  expect(ob_device_open("127.0.0.1:1", &options, &other) == OB_INVALID_ARGUMENT, "options");
}

int main(int count, char** arguments) {
  check(ob_device_open(count > 1 ? arguments[1] : NULL, NULL, &device));
  check(ob_queue_create(device, 0, &queue));
  facts_are_read();
  complex_scalars_are_right();
  rectangles_are_copied();
  copies_stay_on_the_device();
  transforms_are_right();
  fills_and_callbacks_work();
  kernels_run();
  leases_are_asked_for();
  failures_are_described();
  check(ob_queue_flush(queue));
  check(ob_device_close(device));
  options_are_read();
  return 0;
}
