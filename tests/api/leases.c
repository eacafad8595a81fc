/* Devices of a pool in C: a lease is acquired, grows and shrinks, another one has two devices from
   the start, and an administrator ends it while the program computes. OUTBOARD_POOL names the
   manager. After each step the program prints a word and waits for a line, so that
   tests/python/pool/test_pool_device_programs.py sees what the manager says meanwhile.
   leases_cxx.cpp and leases.f90 have the same steps. */
#include <outboard/device.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

enum { kRows = 23, kInner = 31, kColumns = 17, kPadded = kRows + 3 };
enum { kMostWaits = 3000 }; /* of 10 ms each; it ends a test that hangs */
static const double poison = -77;

static atomic_int seen[5]; /* how often each OB_LEASE_... was reported */

static void fail(const char* what) {
  fprintf(stderr, "failed: %s\n", what);
  exit(1);
}
static void expect(int truth, const char* what) {
  if (!truth) fail(what);
}
static void check(ob_status status) {
  ob_error error = {.struct_bytes = sizeof error};
  if (status == OB_OK) return;
  ob_last_error(&error);
  fail(error.message);
}

static void changed(void* user, int32_t what, ob_device device) {
  (void)device;
  atomic_fetch_add((atomic_int*)user + what, 1);
}
static void wait_a_moment(void) { (void)thrd_sleep(&(struct timespec){.tv_nsec = 10000000}, NULL); }
static void wait_until_seen(int32_t what, int times) {
  for (int i = 0; i < kMostWaits && atomic_load(&seen[what]) < times; ++i) wait_a_moment();
  expect(atomic_load(&seen[what]) == times, "the number of reports of the lease");
}

static void say_and_wait(const char* word) {
  char line[64];
  printf("%s\n", word);
  fflush(stdout);
  expect(fgets(line, sizeof line, stdin) != NULL, "a line of the test");
}

/* C <- A B of small whole numbers, where A depends on `salt`. The oracle is three loops. */
static int is_product(const double* a, const double* b, const double* c) {
  for (int j = 0; j < kColumns; ++j) {
    for (int i = 0; i < kPadded; ++i) {
      double sum = 0;
      for (int p = 0; i < kRows && p < kInner; ++p) sum += a[i + p * kRows] * b[p + j * kInner];
      if (c[i + j * kPadded] != (i < kRows ? sum : poison)) return 0;
    }
  }
  return 1;
}
static ob_status run(ob_queue queue, const ob_buffer buffer[3], const double* a, const double* b,
                     double* c) {
  const ob_operand operands[] = {
      {.value.flag = 'N'},
      {.value.flag = 'N'},
      {.value.integer = kRows},
      {.value.integer = kColumns},
      {.value.integer = kInner},
      {.value.real = 1},
      {.value.place = {buffer[0], 0}, .ld = kRows},
      {.value.place = {buffer[1], 0}, .ld = kInner},
      {.value.real = 0},
      {.value.place = {buffer[2], 0}, .ld = kPadded},
  };
  const uint64_t bytes_c = kPadded * kColumns * sizeof *c;
  ob_status status = ob_write(queue, operands[6].value.place, a, kRows * kInner * sizeof *a, 0);
  if (status == OB_OK) {
    status = ob_write(queue, operands[7].value.place, b, kInner * kColumns * sizeof *b, 0);
  }
  if (status == OB_OK) status = ob_write(queue, operands[9].value.place, c, bytes_c, OB_CAPTURE);
  if (status == OB_OK) status = ob_call(queue, "dgemm", operands, 10);
  if (status == OB_OK) status = ob_read(queue, c, operands[9].value.place, bytes_c, 0);
  const ob_status done = ob_queue_synchronize(queue, OB_FOREVER, NULL);
  return status == OB_OK ? done : status;
}
static ob_status multiply(ob_device device, int salt) {
  static double a[kRows * kInner], b[kInner * kColumns], c[kPadded * kColumns];
  static const uint64_t bytes[3] = {sizeof a, sizeof b, sizeof c};
  ob_queue queue;
  ob_buffer buffer[3];
  for (int i = 0; i < kRows * kInner; ++i) a[i] = (i + salt) % 7 - 3;
  for (int i = 0; i < kInner * kColumns; ++i) b[i] = i % 5 - 2;
  for (int i = 0; i < kPadded * kColumns; ++i) c[i] = poison;
  ob_status status = ob_queue_create(device, 0, &queue);
  if (status != OB_OK) return status;
  for (int i = 0; i < 3; ++i) {
    status = ob_buffer_create(device, bytes[i], 0, &buffer[i]);
    if (status != OB_OK) return status;
  }
  status = run(queue, buffer, a, b, c);
  if (status != OB_OK) return status;
  expect(is_product(a, b, c), "a product on a device of the lease");
  for (int i = 0; i < 3; ++i) check(ob_buffer_destroy(buffer[i]));
  return ob_queue_destroy(queue);
}

static ob_lease acquire(uint32_t count) {
  const ob_request request = {.struct_bytes = sizeof request,
                              .count = count,
                              .exclusive = 1,
                              .wait_ms = 20000,
                              .seconds = 6};
  ob_lease lease;
  check(ob_lease_acquire(&request, &lease));
  return lease;
}
static ob_device device_of(ob_lease lease, uint32_t index) {
  ob_device device;
  check(ob_lease_device(lease, index, &device));
  return device;
}

static void grow_and_shrink(void) {
  ob_lease lease = acquire(1);
  ob_device none;
  check(ob_lease_watch(lease, changed, seen));
  ob_device first = device_of(lease, 0);
  check(multiply(first, 1));
  expect(ob_lease_device(lease, 1, &none) == OB_INVALID_ARGUMENT, "the lease has one device");
  say_and_wait("one");
  check(multiply(first, 2)); /* the test waited until the lease was renewed */
  check(ob_lease_grow(lease, 1, 20000));
  ob_device second = device_of(lease, 1);
  check(multiply(first, 3));
  check(multiply(second, 4));
  wait_until_seen(OB_LEASE_GIVEN, 1);
  expect(ob_lease_grow(lease, 1, 0) == OB_BUSY, "no third device is free");
  expect(ob_lease_grow(lease, 3, 0) == OB_UNSUPPORTED, "the pool has fewer than five devices");
  say_and_wait("grown");
  check(ob_lease_shrink(lease, first));
  expect(multiply(first, 5) == OB_INVALID_ARGUMENT, "the device was given back");
  expect(device_of(lease, 0) == second, "the other one is left");
  check(multiply(second, 6));
  say_and_wait("shrunk");
  check(ob_lease_release(lease));
  expect(multiply(second, 7) == OB_INVALID_ARGUMENT, "the lease was released");
  expect(ob_lease_release(lease) == OB_INVALID_ARGUMENT, "it is released once");
  expect(seen[OB_LEASE_TAKEN] == 0 && seen[OB_LEASE_GONE] == 0, "nobody took anything");
  say_and_wait("released");
}

/* Computes on a device until it is refused. The daemon may close the connection before the library
   knows why. */
static void expect_end(ob_device device) {
  ob_status status = OB_OK;
  for (int i = 0; i < kMostWaits && status == OB_OK; ++i) {
    status = multiply(device, i);
    wait_a_moment();
  }
  if (status != OB_FENCED && status != OB_CONNECTION_LOST) check(status);
  expect(status != OB_OK, "the device was taken back");
}

static void lose_a_pair(void) {
  ob_lease lease = acquire(2);
  const ob_request other = {.struct_bytes = sizeof other, .count = 1};
  ob_lease none;
  ob_device device[2] = {device_of(lease, 0), device_of(lease, 1)};
  check(ob_lease_watch(lease, changed, seen));
  for (int i = 0; i < 2; ++i) check(multiply(device[i], 8 + i));
  expect(ob_lease_acquire(&other, &none) == OB_BUSY, "this lease has both devices");
  say_and_wait("pair");
  check(ob_lease_shrink(lease, device[0]));
  expect(device_of(lease, 0) == device[1], "the other one is left");
  check(multiply(device[1], 10));
  say_and_wait("half");
  check(ob_lease_grow(lease, 1, 20000));
  device[0] = device_of(lease, 1);
  for (int i = 0; i < 2; ++i) check(multiply(device[i], 11 + i));
  say_and_wait("both");
  for (int i = 0; i < 2; ++i) expect_end(device[i]);
  wait_until_seen(OB_LEASE_TAKEN, 2);
  wait_until_seen(OB_LEASE_GONE, 1);
  for (int i = 0; i < 2; ++i) {
    expect(multiply(device[i], 1) == OB_FENCED, "a device that was taken back answers OB_FENCED");
  }
  expect(ob_lease_device(lease, 0, &device[0]) == OB_INVALID_ARGUMENT, "no device is left");
  say_and_wait("lost");
  check(ob_lease_release(lease));
}

int main(void) {
  grow_and_shrink();
  lose_a_pair();
  printf("all right\n");
  return 0;
}
