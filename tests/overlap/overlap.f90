! The overlap library from Fortran, with 2 to 4 ranks: halos, moves and panels in all modes, and a
! difference that commit refuses. It prints "all right".
program overlap
  use mpi
  use outboard_overlap
  implicit none

  integer, parameter :: n = 6, runs = 3
  integer :: provided, rank, ranks, failed, mode

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, failed)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, failed)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, failed)
  do mode = ob_overlap_sync, ob_overlap_proxy
    call halos()
    call moves()
    call panels()
  end do
  call mistakes()
  if (rank == 0) print '(a)', 'all right'
  call MPI_Finalize(failed)

contains

  subroutine expect(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    write(error_unit, '(a, i0, a, i0, 2a)') 'rank ', rank, ', mode ', mode, ': ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, failed)
  end subroutine

  function attached() result(runtime)
    type(ob_overlap_runtime) :: runtime
    type(ob_overlap_options) :: options
    options = ob_overlap_options(mode=mode, proxies=2)
    call ob_overlap_check(ob_overlap_attach(MPI_COMM_WORLD, options, runtime))
  end function

  ! Each cell has the number of its owner and of the run. The second dimension is cut, and periodic.
  subroutine halos()
    real(c_double), target, asynchronous :: u(n, n + 2)
    real(c_double), target, asynchronous :: v(n, n + 2)
    logical(c_bool), target :: marks(n, n + 2)
    type(ob_overlap_field), target :: fields(2), marked
    type(ob_overlap_halo_options) :: options
    type(ob_overlap_runtime) :: runtime
    type(ob_overlap_plan) :: plan
    type(ob_overlap_box) :: inner, rim(8)
    ! The update reads the cells before and behind along the second dimension.
    integer(c_int64_t), target :: offsets(4, 2) = reshape( &
      [integer(c_int64_t) :: 0, -1, 0, 0, 0, 1, 0, 0], [4, 2])
    integer(c_int32_t) :: count, i
    integer(c_size_t) :: needed
    integer :: cart, run, below, above, cells
    character(4000) :: text
    call MPI_Cart_create(MPI_COMM_WORLD, 2, [1, ranks], [.false., .true.], .false., cart, failed)
    call MPI_Cart_shift(cart, 1, 1, below, above, failed)
    runtime = attached()
    fields(1) = ob_overlap_array(c_loc(u), storage_size(u) / 8, shape(u))
    fields(2) = ob_overlap_array(c_loc(v), storage_size(v) / 8, shape(v))
    options = ob_overlap_ghosts(fields, 1)
    options%ghost_low(1) = 0
    options%ghost_high(1) = 0
    options%stencil = ob_overlap_offsets
    options%offsets = c_loc(offsets)
    options%offset_count = size(offsets, 2)
    call ob_overlap_check(ob_overlap_halo(runtime, cart, options, plan))
    call ob_overlap_check(ob_overlap_commit(plan))
    call ob_overlap_check(ob_overlap_interior(plan, inner))
    call ob_overlap_check(ob_overlap_boundary(plan, rim, count))
    cells = int(product(inner%high - inner%low))
    do i = 1, count
      cells = cells + int(product(rim(i)%high - rim(i)%low))
    end do
    call expect(cells == n * n, 'interior and boundary are not the cells of the rank')
    do run = 1, runs
      u = -1
      u(:, 2:n + 1) = rank + 10 * run
      v = 100 + u
      call ob_overlap_check(ob_overlap_start(plan, merge(ob_overlap_hold, 0, run == runs)))
      if (run == runs) then
        do i = 1, count
          call ob_overlap_check(ob_overlap_ready(plan, rim(i)))
        end do
      end if
      if (ob_overlap_ticks(plan) /= 0) call ob_overlap_check(ob_overlap_tick(runtime))
      call ob_overlap_check(ob_overlap_wait(plan))
      call expect(all(nint(u(:, 1)) == below + 10 * run), 'the ghost cells below')
      call expect(all(nint(u(:, n + 2)) == above + 10 * run), 'the ghost cells above')
      call expect(all(nint(v(:, n + 2)) == 100 + above + 10 * run), 'those of the second array')
      call expect(all(nint(u(:, 2:n + 1)) == rank + 10 * run), 'the own cells')
    end do
    call ob_overlap_check(ob_overlap_plan_destroy(plan))
    ! The same with a mask: of each column, every second cell travels.
    marks = .false.
    marks(::2, :) = .true.
    marked = ob_overlap_array(c_loc(marks), 1, shape(marks))
    options%mask = c_loc(marked)
    call ob_overlap_check(ob_overlap_halo(runtime, cart, options, plan))
    call ob_overlap_check(ob_overlap_commit(plan))
    u = -1
    u(:, 2:n + 1) = rank
    v = u
    call ob_overlap_check(ob_overlap_start(plan, 0))
    call ob_overlap_check(ob_overlap_wait(plan))
    call expect(all(nint(u(::2, 1)) == below), 'the marked ghost cells below')
    call expect(all(nint(v(::2, n + 2)) == above), 'the marked ghost cells above')
    call expect(all(nint(u(2::2, 1)) == -1), 'ghost cells that are not marked')
    call ob_overlap_check(ob_overlap_explain(runtime, text, len(text, c_size_t), needed))
    call expect(index(text, 'plan halo') > 0, 'explain')
    call ob_overlap_check(ob_overlap_plan_destroy(plan))
    call ob_overlap_check(ob_overlap_detach(runtime))
    call MPI_Comm_free(cart, failed)
  end subroutine

  ! A part of a matrix travels around the ranks, and a copy stays here.
  subroutine moves()
    real(c_float), target, asynchronous :: a(5, 4), b(5, 4)
    type(ob_overlap_runtime) :: runtime
    type(ob_overlap_plan) :: plan
    type(ob_overlap_field) :: from, to
    integer :: left, i
    left = modulo(rank - 1, ranks)
    a = reshape([(real(100 * rank + i), i = 1, 20)], shape(a))
    b = -1
    runtime = attached()
    from = ob_overlap_array(c_loc(a), storage_size(a) / 8, shape(a))
    to = ob_overlap_array(c_loc(b), storage_size(b) / 8, shape(b))
    call ob_overlap_check(ob_overlap_moves(runtime, MPI_COMM_WORLD, 'ring' // c_null_char, plan))
    call ob_overlap_check(ob_overlap_send(plan, from, ob_overlap_cells([2, 1], [4, 2]), &
                                          modulo(rank + 1, ranks), 7))
    call ob_overlap_check(ob_overlap_receive(plan, to, ob_overlap_cells([3, 3], [5, 4]), left, 7))
    call ob_overlap_check(ob_overlap_move(plan, from, ob_overlap_cells([1, 4], [1, 4]), to, &
                                          ob_overlap_cells([1, 1], [1, 1])))
    call ob_overlap_check(ob_overlap_commit(plan))
    call ob_overlap_check(ob_overlap_start(plan, 0))
    call ob_overlap_check(ob_overlap_wait(plan))
    call expect(all(nint(b(3:5, 3:4) - a(2:4, 1:2)) == 100 * (left - rank)), 'the left part')
    call expect(nint(b(1, 1)) == nint(a(1, 4)), 'the copy')
    call expect(count(nint(b) == -1) == 13, 'cells that nobody sent')
    call ob_overlap_check(ob_overlap_detach(runtime))
  end subroutine

  subroutine panels()
    complex(c_double_complex), target, asynchronous :: panel(n, 2)
    complex(c_double_complex), pointer :: here(:, :)
    type(ob_overlap_panel_options) :: options
    type(ob_overlap_runtime) :: runtime
    type(ob_overlap_plan) :: plan
    type(ob_overlap_field) :: field
    type(c_ptr) :: address
    integer(c_int64_t) :: k
    panel = rank
    panel(2, 1) = (7, 8)
    runtime = attached()
    options%broadcast = ob_overlap_broadcast_ring
    field = ob_overlap_array(c_loc(panel), storage_size(panel) / 8, shape(panel))
    call ob_overlap_check(ob_overlap_panels(runtime, MPI_COMM_WORLD, options, plan))
    do k = 0, ranks - 1
      call ob_overlap_check(ob_overlap_panel(plan, int(k), field))
    end do
    call ob_overlap_check(ob_overlap_commit(plan))
    do k = 0, ranks - 1
      call ob_overlap_check(ob_overlap_panel_start(plan, k))
      call ob_overlap_check(ob_overlap_panel_wait(plan, k))
      call ob_overlap_check(ob_overlap_panel_data(plan, k, address))
      call c_f_pointer(address, here, shape(panel))
      call expect(nint(real(here(n, 2))) == k .and. nint(aimag(here(2, 1))) == 8, 'a panel')
    end do
    call ob_overlap_check(ob_overlap_detach(runtime))
  end subroutine

  subroutine mistakes()
    real(c_double), target :: u(10)
    type(ob_overlap_runtime) :: runtime
    type(ob_overlap_plan) :: plan
    type(ob_overlap_field) :: field
    mode = ob_overlap_automatic
    runtime = attached()
    field = ob_overlap_array(c_loc(u), storage_size(u) / 8, shape(u))
    call ob_overlap_check(ob_overlap_moves(runtime, MPI_COMM_WORLD, 'pair' // c_null_char, plan))
    if (rank == 0) then
      call ob_overlap_check(ob_overlap_send(plan, field, ob_overlap_cells([1], [4]), 1, 0))
    end if
    if (rank == 1) then
      call ob_overlap_check(ob_overlap_receive(plan, field, ob_overlap_cells([1], [5]), 0, 0))
    end if
    call expect(ob_overlap_commit(plan) == 1, 'a commit with different sizes')
    call expect(index(ob_overlap_message(), '32 bytes are sent and 40 received') > 0, &
                ob_overlap_message())
    call ob_overlap_check(ob_overlap_detach(runtime))
  end subroutine
end program
