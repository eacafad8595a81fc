! One-sided communication through the C_PTR form of MPI_Win_allocate, whose symbol has its own name.
program window
  use mpi
  use iso_c_binding
  implicit none
  integer :: error, handle
  integer(MPI_ADDRESS_KIND) :: bytes, place
  type(c_ptr) :: base
  integer, pointer :: values(:)

  call MPI_Init(error)
  bytes = 400
  call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, handle, error)
  call c_f_pointer(base, values, [100])
  values = 0
  place = 7
  call MPI_Win_fence(0, handle, error)
  call MPI_Put([42], 1, MPI_INTEGER, 0, place, 1, MPI_INTEGER, handle, error)
  call MPI_Win_fence(0, handle, error)
  print '(a, i3)', 'got', values(8)
  call MPI_Win_free(handle, error)
  call MPI_Finalize(error)
end program window
