/* An MPI program of two ranks that has nothing to hide, for the tests of `outboard run --overlap`.
 *
 *   short_messages patterns ROUNDS
 *       waits in all ways for short messages, and checks them
 *   short_messages tests CALLS
 *       tests for a message that does not come, and shows how often the layer's thread went to
 *       sleep meanwhile
 */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST (64 << 10)

static int rank, other;
static unsigned char out[LARGEST], in[LARGEST];

static void fail(const char* what) {
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void send(int bytes) { MPI_Send(out, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD); }

static void blocking(int bytes) {
  if (rank == 0) send(bytes);
  MPI_Recv(in, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) send(bytes);
}

static void ring(int bytes) {
  MPI_Sendrecv(out, bytes, MPI_BYTE, other, 0, in, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

static void probed(int bytes) {
  MPI_Status status;
  int count = 0;
  if (rank == 0) send(bytes);
  MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_BYTE, &count);
  if (count != bytes) fail("wrong size");
  MPI_Recv(in, count, MPI_BYTE, status.MPI_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) send(bytes);
}

static void early(int bytes) {
  MPI_Request request;
  MPI_Irecv(in, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &request);
  if (rank == 0) send(bytes);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 1) send(bytes);
}

static void start_both(int bytes, MPI_Request* requests) {
  MPI_Irecv(in, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[1]);
}

static void testany(int bytes) {
  MPI_Request requests[2];
  start_both(bytes, requests);
  for (int left = 2; left > 0;) {
    int index, flag;
    MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
    if (flag) --left;
  }
}

static void waitsome(int bytes) {
  MPI_Request requests[2];
  start_both(bytes, requests);
  for (int left = 2; left > 0;) {
    int done, indices[2];
    MPI_Status statuses[2];
    MPI_Waitsome(2, requests, &done, indices, statuses);
    left -= done;
  }
}

static void waitall(int bytes) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  start_both(bytes, requests);
  MPI_Waitall(2, requests, statuses);
}

static void patterns(int rounds) {
  void (*const all[])(int) = {blocking, ring, probed, early, testany, waitsome, waitall};
  const int sizes[] = {1, 16 << 10, LARGEST};
  for (int pattern = 0; pattern < (int)(sizeof all / sizeof *all); ++pattern)
    for (int size = 0; size < 3; ++size)
      for (int round = 0; round < rounds; ++round) {
        const unsigned char mark = (unsigned char)(round + 7 * pattern + 31 * size);
        const int last = sizes[size] - 1;
        memset(in, ~mark, sizes[size]);
        memset(out, mark, sizes[size]);
        all[pattern](sizes[size]);
        if (in[0] != mark || in[last / 2] != mark || in[last] != mark) fail("wrong data");
      }
}

/* Returns how often the threads with this name have gone to sleep. */
static long sleeps(const char* name) {
  long all = 0;
  DIR* const tasks = opendir("/proc/self/task");
  for (struct dirent* task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
    char path[300], line[200];
    int is_named = 0;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
    FILE* const status = fopen(path, "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
      if (strncmp(line, "Name:", 5) == 0) is_named = strstr(line, name) != NULL;
      if (is_named && strncmp(line, "voluntary", 9) == 0) all += atol(strchr(line, '\t'));
    }
    if (status != NULL) fclose(status);
  }
  if (tasks != NULL) closedir(tasks);
  return all;
}

/* The layer decides in the loop, and another call tests. */
static void tests(int calls) {
  for (int round = 0; round < 60; ++round) waitall(LARGEST);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Recv(in, 1, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return send(LARGEST);
  }
  MPI_Request request;
  int flag = 0;
  MPI_Irecv(in, LARGEST, MPI_BYTE, other, 0, MPI_COMM_WORLD, &request);
  const long before = sleeps("ob-overlap");
  for (int call = 0; call < calls; ++call) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  const long after = sleeps("ob-overlap");
  if (flag) fail("a message came that was not sent");
  printf("slept %ld\n", after - before);
  MPI_Send(out, 1, MPI_BYTE, other, 1, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  other = 1 - rank;
  if (argc == 3 && strcmp(argv[1], "patterns") == 0)
    patterns(atoi(argv[2]));
  else if (argc == 3 && strcmp(argv[1], "tests") == 0)
    tests(atoi(argv[2]));
  else
    fail("short_messages patterns ROUNDS | tests CALLS");
  MPI_Finalize();
  return 0;
}
