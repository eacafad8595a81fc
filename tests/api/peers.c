/* Two devices in C: copies between them, events of the other one, messages, grants, and a routine
   on both. The arguments name the devices; peers_cxx.cpp, peers.f90 and test_device_peers.py have
   the same cases. Devices of this process take no messages and make no grants, and daemons do not
   reach each other over Unix sockets. */
#include <outboard/device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kCount = 4096, kBytes = kCount * 8 };

static ob_device device[2];
static ob_queue queue[2];
static ob_buffer buffer[2];
static const ob_rect whole = {kBytes, 1, kBytes, kBytes, 8, 0};

static void fail(const char* what) {
  fprintf(stderr, "failed: %s\n", what);
  exit(1);
}
static void check(ob_status status) {
  ob_error error = {.struct_bytes = sizeof error};
  if (status == OB_OK) return;
  ob_last_error(&error);
  fail(error.message);
}
static ob_place place(int side) { return (ob_place){buffer[side], 0}; }
static void set(int side, double value) {
  check(ob_fill(queue[side], place(side), &value, 8, kCount));
}
static void expect(int side, double value, const char* what) {
  static double read[kCount];
  memset(read, 0xFF, sizeof read);
  check(ob_read(queue[side], read, place(side), kBytes, OB_WAIT));
  for (int i = 0; i < kCount; ++i) {
    if (read[i] != value) fail(what);
  }
}

static void copy_between(void) {
  set(0, 3);
  set(1, -1);
  check(ob_copy_between(queue[0], place(0), queue[1], place(1), &whole));
  expect(1, 3, "a copy between devices");
}

/* The queue of one device waits for the other one, which has much to do. */
static void hold_for_the_other(void) {
  ob_event done;
  check(ob_event_create(device[0], 0, &done));
  set(1, 0);
  for (int i = 1; i <= 100; ++i) set(0, i);
  check(ob_event_record(done, queue[0]));
  check(ob_event_hold(done, queue[1]));
  check(ob_copy_between(queue[0], place(0), queue[1], place(1), &whole));
  expect(1, 100, "an event of another device");
  check(ob_event_destroy(done));
}

static void send_and_receive(void) {
  char address[OB_ADDRESS_BYTES];
  ob_mailbox mailbox;
  ob_peer peer;
  ob_event sent;
  if (ob_mailbox_open(device[1], address, &mailbox) == OB_UNSUPPORTED) return;
  const ob_status connected = ob_peer_connect(device[0], address, &peer);
  if (connected == OB_UNSUPPORTED) return;
  check(connected);
  check(ob_event_create(device[0], 0, &sent));
  set(0, 5);
  set(1, -1);
  check(ob_receive(queue[1], mailbox, 7, place(1), &whole, NULL, NULL));
  check(ob_send(queue[0], peer, 7, place(0), &whole, sent));
  check(ob_queue_flush(queue[1]));
  check(ob_event_hold(sent, queue[0]));
  set(0, 6); /* behind the message */
  expect(1, 5, "a message");
  check(ob_event_destroy(sent));
  check(ob_peer_disconnect(peer));
  check(ob_mailbox_close(mailbox));
}

static void put_and_get(void) {
  char address[OB_ADDRESS_BYTES];
  ob_grant grant;
  const ob_status made = ob_grant_create(buffer[1], 0, kBytes, OB_MAY_READ | OB_MAY_WRITE, NULL, 60,
                                         0, address, &grant);
  if (made == OB_UNSUPPORTED) return;
  check(made);
  set(0, 8);
  check(ob_put(queue[0], address, 0, place(0), kBytes, NULL));
  const ob_status landed = ob_queue_synchronize(queue[0], OB_FOREVER, NULL);
  if (landed == OB_UNSUPPORTED) return;
  check(landed);
  check(ob_grant_wait(grant, queue[1], 1));
  expect(1, 8, "a put");
  set(1, 9);
  check(ob_queue_synchronize(queue[1], OB_FOREVER, NULL));
  check(ob_get(queue[0], address, 0, place(0), kBytes, NULL));
  expect(0, 9, "a get");
  check(ob_grant_revoke(grant));
  check(ob_get(queue[0], address, 0, place(0), kBytes, NULL));
  if (ob_queue_synchronize(queue[0], OB_FOREVER, NULL) != OB_DENIED) fail("a revoked grant");
}

static ob_operand host(double* elements, int64_t ld) {
  return (ob_operand){.value.host = elements, .ld = ld};
}

static void compute_on_both(void) {
  enum { n = 48 };
  static double a[n * n], c[n * n];
  for (int i = 0; i < n * n; ++i) a[i] = i % 7 - 3;
  memset(c, 0xFF, sizeof c);
  const ob_operand operands[] = {
      {.value.flag = 'N'},  {.value.flag = 'N'}, {.value.integer = n}, {.value.integer = n},
      {.value.integer = n}, {.value.real = 2},   host(a, n),           host(a, n),
      {.value.real = 0},    host(c, n),
  };
  check(ob_on_devices(device, 2, "dgemm", operands, 10));
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i + k * n] * a[k + j * n];
      if (c[i + j * n] != 2 * sum) fail("a product on both devices"); /* integers: exact */
    }
  }
}

int main(int count, char** arguments) {
  if (count != 3) fail("two names of devices are needed");
  for (int side = 0; side < 2; ++side) {
    check(ob_device_open(arguments[1 + side], NULL, &device[side]));
    check(ob_queue_create(device[side], 0, &queue[side]));
    check(ob_buffer_create(device[side], kBytes, 0, &buffer[side]));
  }
  copy_between();
  hold_for_the_other();
  send_and_receive();
  put_and_get();
  compute_on_both();
  for (int side = 0; side < 2; ++side) check(ob_device_close(device[side]));
  puts("all right");
  return 0;
}
