/* MPI programs with code that MPI or the system calls, for the tests of `outboard run --overlap`.
 *
 *   callbacks operation   reductions with an MPI_Op of the program, which is not safe for threads
 *   callbacks handler     an error handler of the program, and a receive that is too short
 *   callbacks signal      a signal handler that calls exit(9) inside of MPI
 *   callbacks corners     cancelled, freed and restarted requests, freed communicators, a child
 *                         process, an intercommunicator
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT (1 << 16)
#define ROUNDS 2

static int rank, ranks;
static pthread_t program;
static int calls, elsewhere;

static void nap_ms(long ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

static void fail(const char* what) {
  fprintf(stderr, "rank %d: %s\n", rank, what);
  nap_ms(200); /* MPICH's launcher loses what it has not forwarded before the end */
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void note_call(void) {
  ++calls;
  if (!pthread_equal(pthread_self(), program)) ++elsewhere;
}

static void add(void* from, void* to, int* count, MPI_Datatype* type) {
  (void)type;
  note_call();
  for (int i = 0; i < *count; ++i) ((int*)to)[i] += ((int*)from)[i];
}

static void check(const int* values, int count, int expected, const char* function) {
  for (int i = 0; i < count; ++i)
    if (values[i] != expected) fail(function);
}

static void operation(void) {
  int* in = malloc(sizeof(int) * COUNT);
  int* out = malloc(sizeof(int) * COUNT);
  int* counts = malloc(sizeof(int) * (size_t)ranks);
  const int block = COUNT / ranks, sum = ranks * (ranks + 1) / 2;
  const int below = rank * (rank + 1) / 2;
  MPI_Op op;
  MPI_Request request;
  MPI_Op_create(add, 1, &op);
  for (int i = 0; i < COUNT; ++i) in[i] = rank + 1;
  for (int i = 0; i < ranks; ++i) counts[i] = block;
  for (int round = 0; round < ROUNDS; ++round)
    for (int kind = 0; kind < 6; ++kind) {
      memset(out, 0x7f, sizeof(int) * COUNT);
      const MPI_Comm comm = MPI_COMM_WORLD;
      switch (kind) {
        case 0: MPI_Iallreduce(in, out, COUNT, MPI_INT, op, comm, &request); break;
        case 1: MPI_Ireduce(in, out, COUNT, MPI_INT, op, 0, comm, &request); break;
        case 2: MPI_Iscan(in, out, COUNT, MPI_INT, op, comm, &request); break;
        case 3: MPI_Iexscan(in, out, COUNT, MPI_INT, op, comm, &request); break;
        case 4: MPI_Ireduce_scatter(in, out, counts, MPI_INT, op, comm, &request); break;
        default: MPI_Ireduce_scatter_block(in, out, block, MPI_INT, op, comm, &request);
      }
      nap_ms(10); /* the program computes */
      if (round % 2)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      else
        for (int done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (kind == 0) check(out, COUNT, sum, "MPI_Iallreduce is wrong");
      if (kind == 1 && rank == 0) check(out, COUNT, sum, "MPI_Ireduce is wrong");
      if (kind == 2) check(out, COUNT, below + rank + 1, "MPI_Iscan is wrong");
      if (kind == 3 && rank > 0) check(out, COUNT, below, "MPI_Iexscan is wrong");
      if (kind >= 4) check(out, block, sum, "MPI_Ireduce_scatter is wrong");
    }
  int all = 0;
  MPI_Allreduce(&calls, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (all == 0) fail("no rank has called the operation");
  if (elsewhere > 0) fail("the operation has run in a thread that is not the program's");
  MPI_Op_free(&op);
}

static void handle(MPI_Comm* comm, int* error, ...) {
  (void)comm, (void)error;
  note_call();
}

static void handler(void) {
  static char data[1 << 18];
  MPI_Errhandler made;
  MPI_Request request;
  MPI_Comm_create_errhandler(handle, &made);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, made);
  if (rank == 0) {
    MPI_Isend(data, 1 << 18, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    nap_ms(50);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Irecv(data, 1 << 17, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
    nap_ms(200);
    if (calls > 0) fail("the handler has run while the program was outside of MPI");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("handler: %d call(s), %d in other threads\n", calls, elsewhere);
  }
}

static void end(int number) {
  (void)number;
  exit(9);
}

static void exit_inside(void) {
  static char data[1 << 20];
  MPI_Request request;
  signal(SIGALRM, end);
  MPI_Irecv(data, 1 << 20, MPI_BYTE, rank, 1, MPI_COMM_WORLD, &request);
  ualarm(100000, 0);
  MPI_Recv(data, 4, MPI_BYTE, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  fail("a message that nobody sends has arrived");
}

static void cancel(int* data) {
  MPI_Request request;
  MPI_Status status;
  int cancelled = 0;
  MPI_Irecv(data, COUNT, MPI_INT, rank, 30, MPI_COMM_WORLD, &request);
  nap_ms(5);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &cancelled);
  if (!cancelled) fail("MPI_Cancel has not cancelled a receive without a message");
}

/* The request of a send is freed while it is under way, and so is its communicator. */
static void free_both(int* out, int* in) {
  const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  MPI_Comm comm;
  MPI_Request request, receive;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Irecv(in, COUNT, MPI_INT, from, 31, comm, &receive);
  MPI_Isend(out, COUNT, MPI_INT, to, 31, comm, &request);
  MPI_Request_free(&request);
  MPI_Comm_free(&comm);
  nap_ms(5);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  check(in, COUNT, from, "wrong data over a communicator that is freed");
  MPI_Barrier(MPI_COMM_WORLD); /* all have received, so the buffer is free again */
}

static void restart(int* out, int* in) {
  const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Recv_init(in, COUNT, MPI_INT, MPI_ANY_SOURCE, 32, MPI_COMM_WORLD, &requests[0]);
  MPI_Ssend_init(out, COUNT, MPI_INT, to, 32, MPI_COMM_WORLD, &requests[1]);
  for (int round = 0; round < 5; ++round) {
    int count = 0;
    memset(in, 0x7f, sizeof(int) * COUNT);
    MPI_Startall(2, requests);
    nap_ms(round);
    MPI_Waitall(2, requests, statuses);
    MPI_Get_count(&statuses[0], MPI_INT, &count);
    if (statuses[0].MPI_SOURCE != from || statuses[0].MPI_TAG != 32 || count != COUNT)
      fail("the status of a persistent receive is wrong");
    check(in, COUNT, from, "wrong data of a persistent receive");
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

/* The child has no thread of the layer, and ends by exit(). */
static void fork_child(int* in) {
  MPI_Request request;
  int state = 0;
  MPI_Irecv(in, COUNT, MPI_INT, rank, 33, MPI_COMM_WORLD, &request);
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGALRM, SIG_DFL);
    alarm(20);
    exit(4);
  }
  if (waitpid(child, &state, 0) != child || !WIFEXITED(state) || WEXITSTATUS(state) != 4)
    fail("a child process does not end");
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void between_groups(int* out, int* in) {
  MPI_Comm half, inter;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  const int other = rank % 2 == 0 ? 1 : 0;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, other, 34, &inter);
  int half_rank = 0, remote = 0;
  MPI_Comm_rank(half, &half_rank);
  MPI_Comm_remote_size(inter, &remote);
  if (half_rank < remote) {
    MPI_Irecv(in, COUNT, MPI_INT, half_rank, 35, inter, &requests[0]);
    MPI_Isend(out, COUNT, MPI_INT, half_rank, 35, inter, &requests[1]);
    nap_ms(5);
    MPI_Waitall(2, requests, statuses);
    check(in, COUNT, rank ^ 1, "wrong data between groups");
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

static void corners(void) {
  int* out = malloc(sizeof(int) * COUNT);
  int* in = malloc(sizeof(int) * COUNT);
  for (int i = 0; i < COUNT; ++i) out[i] = rank;
  for (int round = 0; round < 3; ++round) {
    cancel(in);
    free_both(out, in);
    restart(out, in);
    fork_child(in);
    between_groups(out, in);
  }
  free(out);
  free(in);
}

int main(int count, char** words) {
  const char* kind = count > 1 ? words[1] : "";
  program = pthread_self();
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strcmp(kind, "operation") == 0)
    operation();
  else if (strcmp(kind, "handler") == 0)
    handler();
  else if (strcmp(kind, "signal") == 0)
    exit_inside();
  else if (strcmp(kind, "corners") == 0)
    corners();
  else
    fail("callbacks operation|handler|signal|corners");
  MPI_Finalize();
  return 0;
}
