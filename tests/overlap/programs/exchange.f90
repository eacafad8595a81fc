! The case `message` of exchange.c, with `use mpi`, or with `use mpi_f08` if F08 is defined.
program exchange
#ifdef F08
  use mpi_f08
  implicit none
  type(MPI_Request) :: requests(1)
#else
  use mpi
  implicit none
  integer :: requests(1)
#endif
  integer, parameter :: n = 2 * 1024 * 1024
  integer, allocatable :: values(:)
  integer :: rank, error, i, index, unit, round
  logical :: there
  character(len=1000) :: file

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call get_command_argument(1, file)
  allocate (values(n))
  values = 0
  if (rank == 0) then
    do i = 1, n
      values(i) = 3 * i
    end do
    call MPI_Isend(values, n, MPI_INTEGER, 1, 9, MPI_COMM_WORLD, requests(1), error)
    there = .false.
    do round = 1, 2000
      inquire (file=trim(file), exist=there)
      if (there) exit
      call execute_nap()
    end do
    if (.not. there) then
      print *, 'the message did not move'
      call MPI_Abort(MPI_COMM_WORLD, 3, error)
    end if
    call MPI_Waitany(1, requests, index, MPI_STATUS_IGNORE, error)
  else if (rank == 1) then
    call MPI_Irecv(values, n, MPI_INTEGER, 0, 9, MPI_COMM_WORLD, requests(1), error)
    call MPI_Waitall(1, requests, MPI_STATUSES_IGNORE, error)
    do i = 1, n
      if (values(i) == 3 * i) cycle
      print *, 'wrong data'
      call MPI_Abort(MPI_COMM_WORLD, 3, error)
    end do
    open (newunit=unit, file=trim(file))
    close (unit)
  end if
  call MPI_Finalize(error)
  if (rank == 0) print *, 'finished'

contains

  ! Fortran has no sleep of its own.
  subroutine execute_nap()
    use, intrinsic :: iso_c_binding
    interface
      integer(c_int) function usleep(us) bind(c)
        import :: c_int
        integer(c_int), value :: us
      end function usleep
    end interface
    integer(c_int) :: ignored
    ignored = usleep(10000_c_int)
  end subroutine execute_nap
end program exchange
