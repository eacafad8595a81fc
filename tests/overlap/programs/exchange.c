/* An MPI program that knows nothing of Outboard, for the tests of `outboard run --overlap`.
 *
 *   exchange message FILE | collective FILE | reduction FILE | persistent FILE
 *       rank 0 starts an operation, and stays outside of MPI until rank 1, which has completed it,
 *       makes FILE. It gives up after 20 s, or OUTSIDE_S.
 *   exchange waitany FILE
 *       the same with a message that is left over from MPI_Waitany
 *   exchange random SEED ROUNDS   checks every element of random exchanges
 *   exchange level N              shows the thread levels that the program sees
 *   exchange truncated            shows the error of a receive that is too short
 *   exchange loop ROUNDS MS       exchanges 4 MiB, sleeps MS ms (an accelerator computes), waits
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LARGE (8 << 20)

static int rank, ranks;

static void nap_ms(double ms) {
  const struct timespec time = {(time_t)(ms / 1e3), (long)((ms - 1e3 * (long)(ms / 1e3)) * 1e6)};
  nanosleep(&time, NULL);
}

static void fail(const char* what) {
  fprintf(stderr, "rank %d: %s\n", rank, what);
  nap_ms(200); /* MPICH's launcher loses what it has not forwarded before the end */
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void wait_outside(const char* file) {
  const char* limit = getenv("OUTSIDE_S");
  for (int left = (limit ? atoi(limit) : 20) * 100; access(file, F_OK) != 0; --left) {
    if (left == 0) fail("the operation did not move while the program was outside of MPI");
    nap_ms(10);
  }
}

static void make(const char* file) { fclose(fopen(file, "w")); }

static void fill(unsigned char* at, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; ++i) at[i] = (unsigned char)((i * 2654435761u + seed) >> 11);
}

static void check(const unsigned char* at, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; ++i)
    if (at[i] != (unsigned char)((i * 2654435761u + seed) >> 11)) fail("wrong data");
}

static void outside(const char* kind, const char* file) {
  unsigned char* data = malloc(LARGE);
  MPI_Request request;
  const int persistent = strcmp(kind, "persistent") == 0;
  if (rank == 0) fill(data, LARGE, 7);
  if (strcmp(kind, "collective") == 0)
    MPI_Ibcast(data, LARGE, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
  else if (strcmp(kind, "reduction") == 0) {
    if (rank == 1) memset(data, 0, LARGE);
    MPI_Ireduce(rank == 1 ? MPI_IN_PLACE : data, data, LARGE, MPI_BYTE, MPI_BOR, 1, MPI_COMM_WORLD,
                &request);
  } else if (rank == 0 && persistent) {
    MPI_Send_init(data, LARGE, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
  } else if (rank == 0)
    MPI_Isend(data, LARGE, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &request);
  else if (rank == 1)
    MPI_Irecv(data, LARGE, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &request);
  if (rank == 0) wait_outside(file);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 1) make(file);
  check(data, LARGE, 7);
  if (rank == 0 && persistent) MPI_Request_free(&request);
  free(data);
}

/* Rank 1 receives the large message only after rank 0 has left MPI_Waitany with the small one. */
static void outside_after_waitany(const char* file) {
  unsigned char* data = malloc(LARGE);
  char small = 0, ready[4096];
  snprintf(ready, sizeof ready, "%s.ready", file);
  if (rank == 0) {
    MPI_Request requests[2];
    int index = -1;
    fill(data, LARGE, 7);
    MPI_Irecv(&small, 1, MPI_CHAR, 1, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(data, LARGE, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    if (index != 0) fail("MPI_Waitany completed a message that nobody receives");
    nap_ms(100); /* the thread of the layer may go to sleep */
    make(ready);
    wait_outside(file);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Send(&small, 1, MPI_CHAR, 0, 4, MPI_COMM_WORLD);
    wait_outside(ready);
    MPI_Recv(data, LARGE, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    make(file);
    check(data, LARGE, 7);
  }
  free(data);
}

/* Completes all requests by the function with number `way`. */
static void complete(int way, int count, MPI_Request* requests) {
  int done = 0, flag = 0, index = 0, left = count;
  int* indices = malloc(sizeof(int) * (size_t)(count + 1));
  MPI_Status* statuses = malloc(sizeof(MPI_Status) * (size_t)(count + 1));
  switch (way) {
    case 0: MPI_Waitall(count, requests, statuses); break;
    case 1:
      for (int i = 0; i < count; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      break;
    case 2:
      for (; left > 0; --left) MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
      break;
    case 3:
      for (; left > 0; left -= done) MPI_Waitsome(count, requests, &done, indices, statuses);
      break;
    case 4:
      while (!flag) MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE);
      break;
    case 5:
      for (int i = 0; i < count; ++i)
        for (flag = 0; !flag;) MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
      break;
    case 6:
      for (; left > 0; left -= flag) MPI_Testany(count, requests, &index, &flag, MPI_STATUS_IGNORE);
      break;
    default:
      for (; left > 0; left -= done) MPI_Testsome(count, requests, &done, indices, statuses);
  }
  free(indices);
  free(statuses);
}

static void random_rounds(unsigned seed, int rounds) {
  enum { MOST = 12 };
  unsigned char* sent[MOST];
  unsigned char* received[MOST];
  size_t bytes[MOST];
  MPI_Request requests[2 * MOST + 2];
  for (int round = 0; round < rounds; ++round) {
    srand(seed + (unsigned)round); /* the same numbers in all ranks */
    const int messages = 1 + rand() % MOST;
    const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    const int persistent = rand() % 4 == 0;
    int count = 0;
    for (int m = 0; m < messages; ++m) {
      bytes[m] = rand() % 3 ? (size_t)(rand() % 4096) : (size_t)(rand() % (1 << 20));
      sent[m] = malloc(bytes[m] + 1);
      received[m] = calloc(bytes[m] + 1, 1);
      fill(sent[m], bytes[m], seed + (unsigned)(round * 131 + m * 17 + rank));
      const int kind = rand() % 3;
      const int n = (int)bytes[m];
      if (persistent) {
        MPI_Recv_init(received[m], n, MPI_BYTE, from, m, MPI_COMM_WORLD, &requests[count++]);
        MPI_Send_init(sent[m], n, MPI_BYTE, to, m, MPI_COMM_WORLD, &requests[count++]);
        continue;
      }
      MPI_Irecv(received[m], n, MPI_BYTE, from, m, MPI_COMM_WORLD, &requests[count++]);
      if (kind == 0)
        MPI_Issend(sent[m], n, MPI_BYTE, to, m, MPI_COMM_WORLD, &requests[count++]);
      else
        MPI_Isend(sent[m], n, MPI_BYTE, to, m, MPI_COMM_WORLD, &requests[count++]);
    }
    if (persistent && rand() % 2)
      for (int i = 0; i < count; ++i) MPI_Start(&requests[i]);
    else if (persistent)
      MPI_Startall(count, requests);
    int sum_in = rank + round, sum = 0;
    MPI_Request all;
    MPI_Iallreduce(&sum_in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &all);
    if (rand() % 2) nap_ms(rand() % 3);
    complete(rand() % 8, count, requests);
    MPI_Wait(&all, MPI_STATUS_IGNORE);
    if (sum != ranks * (ranks - 1) / 2 + ranks * round) fail("wrong sum");
    for (int m = 0; m < messages; ++m) {
      check(received[m], bytes[m], seed + (unsigned)(round * 131 + m * 17 + from));
      free(sent[m]);
      free(received[m]);
    }
    for (int i = 0; persistent && i < count; ++i) MPI_Request_free(&requests[i]);
  }
}

static void truncated(void) {
  static char data[1 << 18];
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Request request;
  if (rank == 0) {
    MPI_Isend(data, 1 << 18, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    nap_ms(50);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Irecv(data, 1 << 17, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
    nap_ms(50);
    int error = MPI_Wait(&request, MPI_STATUS_IGNORE), class = 0;
    MPI_Error_class(error, &class);
    printf("truncated %d\n", class == MPI_ERR_TRUNCATE);
  }
}

static void loop(int rounds, double ms) {
  const int bytes = 4 << 20;
  unsigned char* out = malloc((size_t)bytes);
  unsigned char* in = malloc((size_t)bytes);
  const int other = rank ^ 1;
  const double start = MPI_Wtime();
  for (int round = 0; round < rounds; ++round) {
    MPI_Request requests[2];
    fill(out, 1000, (unsigned)(round + rank));
    MPI_Irecv(in, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[1]);
    nap_ms(ms);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check(in, 1000, (unsigned)(round + other));
  }
  if (rank == 0) printf("%.3f ms a round\n", 1e3 * (MPI_Wtime() - start) / rounds);
}

int main(int count, char** words) {
  const char* kind = count > 1 ? words[1] : "";
  int provided = -1, queried = -1;
  if (strcmp(kind, "level") == 0)
    MPI_Init_thread(&count, &words, atoi(words[2]), &provided);
  else
    MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Query_thread(&queried);
  if (strcmp(kind, "level") == 0)
    printf("provided %d queried %d\n", provided, queried);
  else if (strcmp(kind, "random") == 0)
    random_rounds((unsigned)atoi(words[2]), atoi(words[3]));
  else if (strcmp(kind, "waitany") == 0)
    outside_after_waitany(words[2]);
  else if (strcmp(kind, "truncated") == 0)
    truncated();
  else if (strcmp(kind, "loop") == 0)
    loop(atoi(words[2]), atof(words[3]));
  else
    outside(kind, words[2]);
  MPI_Finalize();
  return 0;
}
