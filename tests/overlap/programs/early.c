// Rank 0 sends BYTES while rank 1 stays outside of MPI until the file FILE is there. Rank 0 makes
// the file when the message has left, or after SECONDS. It prints which of both came first.
//
// usage: early BYTES FILE SECONDS

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** words) {
  MPI_Init(&count, &words);
  if (count != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const int bytes = atoi(words[1]);
  const char* const file = words[2];
  const double limit = MPI_Wtime() + atof(words[3]);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* const message = malloc((size_t)bytes);
  memset(message, rank == 0 ? 7 : 1, (size_t)bytes);
  // The first message makes the connection.
  char first = 0;
  if (rank == 0) MPI_Send(&first, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(&first, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  int wrong = 0;
  if (rank == 0) {
    MPI_Request request;
    int left = 0;
    MPI_Isend(message, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
    while (!left && MPI_Wtime() < limit) MPI_Test(&request, &left, MPI_STATUS_IGNORE);
    printf("%s\n", left ? "early" : "asked for");
    fflush(stdout);
    fclose(fopen(file, "w"));
    if (!left) MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    while (access(file, F_OK) != 0) usleep(1000);
    MPI_Recv(message, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < bytes; ++i) wrong += message[i] != 7;
  }
  // Ranks that come to MPI_Finalize apart can make MPICH over TCP hang.
  MPI_Barrier(MPI_COMM_WORLD);
  free(message);
  MPI_Finalize();
  return wrong != 0;
}
