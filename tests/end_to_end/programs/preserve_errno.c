/* Actions of a program around its BLAS calls must not break: closing every descriptor and using the
 * numbers again, running without 0, 1 and 2, cancelling a thread that computes. */

#include <cblas.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { kOrder = 160, kPairs = 120, kCalls = 3 };

static double a[kOrder * kOrder], b[kOrder * kOrder], c[kOrder * kOrder];
static int failures;

static void fail(const char* what) {
  printf("%s\n", what);
  ++failures;
}

/* The product of constant matrices has the constant kOrder * 2 everywhere. */
static void multiply(void) {
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, kOrder, kOrder, kOrder, 1.0, a, kOrder, b,
              kOrder, 0.0, c, kOrder);
  for (int i = 0; i < kOrder * kOrder; ++i) {
    if (c[i] != 2.0 * kOrder) {
      fail("a product is wrong");
      return;
    }
  }
}

/* A program that becomes a daemon closes all descriptors that it does not know. Its own files and
 * sockets then get the freed numbers. */
static void close_all_and_use_the_numbers(void) {
  static int mine[kPairs][2];
  multiply();
  for (int fd = 3; fd < 1024; ++fd) close(fd);
  for (int i = 0; i < kPairs; ++i) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, mine[i]) != 0) fail("no socket pair");
  }
  for (int i = 0; i < kCalls; ++i) multiply();
  for (int i = 0; i < kPairs; ++i) {
    char text[8] = "";
    for (int end = 0; end < 2; ++end) {
      if (recv(mine[i][end], text, 1, MSG_DONTWAIT) != -1) fail("a socket of the program got data");
      if (send(mine[i][end], "own", 4, MSG_NOSIGNAL) != 4) fail("a socket was closed");
      if (recv(mine[i][1 - end], text, 4, 0) != 4 || strcmp(text, "own") != 0) fail("wrong data");
    }
  }
}

static void keep_clear_of_the_first_three(void) {
  const int out = dup(1);
  close(0);
  close(1);
  close(2);
  multiply();
  const int next = open("/dev/null", O_RDWR);
  if (next == 0) (void)dup2(next, 2);
  (void)dup2(out, 1);
  if (next != 0) fail("the number 0 was taken");
  multiply();
}

static void* compute_for_ever(void* unused) {
  for (;;) {
    multiply();
    pthread_testcancel();
  }
  return unused;
}

static void cancel_a_computing_thread(void) {
  pthread_t thread;
  void* end = NULL;
  if (pthread_create(&thread, NULL, compute_for_ever, NULL) != 0) fail("no thread");
  usleep(50000); /* it may be anywhere by now; that is the point */
  pthread_cancel(thread);
  pthread_join(thread, &end);
  if (end != PTHREAD_CANCELED) fail("the thread was not cancelled");
  multiply();
}

int main(int argc, char** argv) {
  for (int i = 0; i < kOrder * kOrder; ++i) {
    a[i] = 1.0;
    b[i] = 2.0;
  }
  const char* what = argc == 2 ? argv[1] : "";
  if (strcmp(what, "first") == 0) {
    keep_clear_of_the_first_three();
  } else if (strcmp(what, "closed") == 0) {
    close_all_and_use_the_numbers();
  } else {
    cancel_a_computing_thread();
  }
  return failures == 0 ? 0 : 1;
}
