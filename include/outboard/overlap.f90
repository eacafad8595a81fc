! The overlap library of Outboard for Fortran 2018: the functions of outboard/overlap.h, which says
! what they do, and constructors for their arguments. A program compiles this file, because modules
! of one compiler cannot be read by another, and links to liboutboard-overlap-openmpi.so.1 or
! liboutboard-overlap-mpich.so.1, whichever belongs to its MPI.
!
!   use outboard_overlap
!   real(c_double), allocatable, target, asynchronous :: u(:, :)   ! with ghost cells
!   type(ob_overlap_field), target :: fields(1)
!   call ob_overlap_check(ob_overlap_attach(comm, ob_overlap_options(), runtime))
!   fields(1) = ob_overlap_array(c_loc(u), storage_size(u) / 8, shape(u))
!   call ob_overlap_check(ob_overlap_halo(runtime, cart, ob_overlap_ghosts(fields, 1), plan))
!   call ob_overlap_check(ob_overlap_commit(plan))
!   call ob_overlap_check(ob_overlap_start(plan, 0))
!   ...                                                            ! updates the interior
!   call ob_overlap_check(ob_overlap_wait(plan))
!
! Communicators are integers: comm%MPI_VAL of mpi_f08. Arrays of a plan are contiguous variables
! with the attributes target and asynchronous, and live until the end of the plan. The first
! dimension of an array is the first one of the Cartesian communicator. Texts end with c_null_char.
! Boxes are those of C: low counts from 0, and high is behind the last cell, so a loop runs over
! low(1) + 1, high(1). Sizes of types (struct_bytes) are those of machines with 64 bits.
module outboard_overlap
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  public

  integer(c_int32_t), parameter :: ob_overlap_automatic = 0, ob_overlap_sync = 1, &
    ob_overlap_async = 2, ob_overlap_ticked = 3, ob_overlap_shared = 4, ob_overlap_proxy = 5
  integer(c_int32_t), parameter :: ob_overlap_hold = 1
  integer(c_int32_t), parameter :: ob_overlap_star = 0, ob_overlap_cube = 1, ob_overlap_offsets = 2
  integer(c_int32_t), parameter :: ob_overlap_broadcast_automatic = 0, &
    ob_overlap_broadcast_ring = 1, ob_overlap_broadcast_tree = 2
  integer, parameter :: ob_overlap_dims = 4

  ! Handles.
  type, bind(c) :: ob_overlap_runtime
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(c) :: ob_overlap_plan
    type(c_ptr) :: handle = c_null_ptr
  end type

  type, bind(c) :: ob_overlap_box
    integer(c_int64_t) :: low(ob_overlap_dims) = 0
    integer(c_int64_t) :: high(ob_overlap_dims) = 1
  end type

  type, bind(c) :: ob_overlap_field
    type(c_ptr) :: data = c_null_ptr
    integer(c_int64_t) :: element_bytes = 0
    integer(c_int32_t) :: dims = 0
    integer(c_int64_t) :: extents(ob_overlap_dims) = 1
    integer(c_int64_t) :: strides(ob_overlap_dims) = 0
  end type

  ! on_stuck: c_funloc() of subroutine(report, context) bind(c), with both type(c_ptr), value
  type, bind(c) :: ob_overlap_options
    integer(c_size_t) :: struct_bytes = 56
    integer(c_int32_t) :: mode = ob_overlap_automatic
    integer(c_int32_t) :: workers = 0
    integer(c_int32_t) :: core = -1
    integer(c_int32_t) :: check = 0
    real(c_double) :: patience_s = 0
    type(c_funptr) :: on_stuck = c_null_funptr
    type(c_ptr) :: context = c_null_ptr
    integer(c_int32_t) :: proxies = 1
  end type

  ! name: c_loc() of a string. offsets: c_loc() of integer(c_int64_t) (4, offset_count). mask:
  ! c_loc() of an ob_overlap_array() of integer(c_int8_t) or logical(c_bool).
  type, bind(c) :: ob_overlap_halo_options
    integer(c_size_t) :: struct_bytes = 136
    type(c_ptr) :: name = c_null_ptr
    integer(c_int64_t) :: ghost_low(ob_overlap_dims) = 0
    integer(c_int64_t) :: ghost_high(ob_overlap_dims) = 0
    integer(c_int32_t) :: stencil = ob_overlap_star
    integer(c_int64_t) :: reach = 1
    type(c_ptr) :: offsets = c_null_ptr
    integer(c_size_t) :: offset_count = 0
    type(c_ptr) :: fields = c_null_ptr
    integer(c_size_t) :: field_count = 0
    type(c_ptr) :: mask = c_null_ptr
  end type

  type, bind(c) :: ob_overlap_panel_options
    integer(c_size_t) :: struct_bytes = 24
    type(c_ptr) :: name = c_null_ptr
    integer(c_int32_t) :: look_ahead = 1
    integer(c_int32_t) :: broadcast = ob_overlap_broadcast_automatic
  end type

  type, bind(c) :: ob_overlap_error
    integer(c_size_t) :: struct_bytes = 600
    integer(c_int32_t) :: code = 0
    integer(c_int32_t) :: rank = -1
    integer(c_int32_t) :: neighbour = -1
    character(kind=c_char) :: plan(64) = c_null_char
    character(kind=c_char) :: message(512) = c_null_char
  end type

  interface
    function ob_overlap_last_error(error) bind(c) result(status)
      import
      type(ob_overlap_error), intent(inout) :: error
      integer(c_int32_t) :: status
    end function

    function ob_overlap_mode_named(name, mode) bind(c) result(status)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), intent(inout) :: mode
      integer(c_int32_t) :: status
    end function

    function ob_overlap_attach(comm, options, runtime) bind(c, name='ob_overlap_attach_f') &
        result(status)
      import
      integer(c_int), value :: comm
      type(ob_overlap_options), intent(in) :: options
      type(ob_overlap_runtime), intent(inout) :: runtime
      integer(c_int32_t) :: status
    end function
    function ob_overlap_detach(runtime) bind(c) result(status)
      import
      type(ob_overlap_runtime), value :: runtime
      integer(c_int32_t) :: status
    end function

    function ob_overlap_halo(runtime, cart, options, plan) bind(c, name='ob_overlap_halo_f') &
        result(status)
      import
      type(ob_overlap_runtime), value :: runtime
      integer(c_int), value :: cart
      type(ob_overlap_halo_options), intent(in) :: options
      type(ob_overlap_plan), intent(inout) :: plan
      integer(c_int32_t) :: status
    end function
    function ob_overlap_moves(runtime, comm, name, plan) bind(c, name='ob_overlap_moves_f') &
        result(status)
      import
      type(ob_overlap_runtime), value :: runtime
      integer(c_int), value :: comm
      character(kind=c_char), intent(in) :: name(*)
      type(ob_overlap_plan), intent(inout) :: plan
      integer(c_int32_t) :: status
    end function
    function ob_overlap_send(plan, field, box, to, tag) bind(c) result(status)
      import
      type(ob_overlap_plan), value :: plan
      type(ob_overlap_field), intent(in) :: field
      type(ob_overlap_box), intent(in) :: box
      integer(c_int32_t), value :: to, tag
      integer(c_int32_t) :: status
    end function
    function ob_overlap_receive(plan, field, box, from, tag) bind(c) result(status)
      import
      type(ob_overlap_plan), value :: plan
      type(ob_overlap_field), intent(in) :: field
      type(ob_overlap_box), intent(in) :: box
      integer(c_int32_t), value :: from, tag
      integer(c_int32_t) :: status
    end function
    function ob_overlap_move(plan, from, from_box, to, to_box) bind(c) result(status)
      import
      type(ob_overlap_plan), value :: plan
      type(ob_overlap_field), intent(in) :: from, to
      type(ob_overlap_box), intent(in) :: from_box, to_box
      integer(c_int32_t) :: status
    end function
    function ob_overlap_commit(plan) bind(c) result(status)
      import
      type(ob_overlap_plan), value :: plan
      integer(c_int32_t) :: status
    end function
    function ob_overlap_plan_destroy(plan) bind(c) result(status)
      import
      type(ob_overlap_plan), value :: plan
      integer(c_int32_t) :: status
    end function

    function ob_overlap_interior(plan, interior) bind(c) result(status)
      import
      type(ob_overlap_plan), value :: plan
      type(ob_overlap_box), intent(inout) :: interior
      integer(c_int32_t) :: status
    end function
    function ob_overlap_boundary(plan, boundary, count) bind(c) result(status)
      import
      type(ob_overlap_plan), value :: plan
      type(ob_overlap_box), intent(inout) :: boundary(8)
      integer(c_int32_t), intent(inout) :: count
      integer(c_int32_t) :: status
    end function

    function ob_overlap_start(plan, flags) bind(c) result(status)
      import
      type(ob_overlap_plan), value :: plan
      integer(c_int32_t), value :: flags
      integer(c_int32_t) :: status
    end function
    function ob_overlap_ready(plan, box) bind(c) result(status)
      import
      type(ob_overlap_plan), value :: plan
      type(ob_overlap_box), intent(in) :: box
      integer(c_int32_t) :: status
    end function
    function ob_overlap_tick(runtime) bind(c) result(status)
      import
      type(ob_overlap_runtime), value :: runtime
      integer(c_int32_t) :: status
    end function
    function ob_overlap_ticks(plan) bind(c) result(yes)
      import
      type(ob_overlap_plan), value :: plan
      integer(c_int32_t) :: yes
    end function
    function ob_overlap_wait(plan) bind(c) result(status)
      import
      type(ob_overlap_plan), value :: plan
      integer(c_int32_t) :: status
    end function

    function ob_overlap_panels(runtime, group, options, plan) bind(c, name='ob_overlap_panels_f') &
        result(status)
      import
      type(ob_overlap_runtime), value :: runtime
      integer(c_int), value :: group
      type(ob_overlap_panel_options), intent(in) :: options
      type(ob_overlap_plan), intent(inout) :: plan
      integer(c_int32_t) :: status
    end function
    function ob_overlap_panel(plan, owner, panel) bind(c) result(status)
      import
      type(ob_overlap_plan), value :: plan
      integer(c_int32_t), value :: owner
      type(ob_overlap_field), intent(in) :: panel
      integer(c_int32_t) :: status
    end function
    function ob_overlap_panel_start(plan, panel) bind(c) result(status)
      import
      type(ob_overlap_plan), value :: plan
      integer(c_int64_t), value :: panel
      integer(c_int32_t) :: status
    end function
    function ob_overlap_panel_wait(plan, panel) bind(c) result(status)
      import
      type(ob_overlap_plan), value :: plan
      integer(c_int64_t), value :: panel
      integer(c_int32_t) :: status
    end function
    ! data: for c_f_pointer()
    function ob_overlap_panel_data(plan, panel, data) bind(c) result(status)
      import
      type(ob_overlap_plan), value :: plan
      integer(c_int64_t), value :: panel
      type(c_ptr), intent(inout) :: data
      integer(c_int32_t) :: status
    end function

    function ob_overlap_explain(runtime, text, capacity, needed) bind(c) result(status)
      import
      type(ob_overlap_runtime), value :: runtime
      character(kind=c_char), intent(inout) :: text(*)
      integer(c_size_t), value :: capacity
      integer(c_size_t), intent(inout) :: needed
      integer(c_int32_t) :: status
    end function
  end interface

contains

  ! Returns a contiguous array of Fortran: its address, bytes per element, and shape().
  pure function ob_overlap_array(data, element_bytes, extents) result(field)
    type(c_ptr), intent(in) :: data
    integer, intent(in) :: element_bytes, extents(:)
    type(ob_overlap_field) :: field
    integer :: d
    field%data = data
    field%element_bytes = element_bytes
    field%dims = size(extents)
    field%extents(:size(extents)) = extents
    field%strides(:size(extents)) = [(product(max(1_c_int64_t, int(extents(:d - 1), c_int64_t))), &
                                      d = 1, size(extents))]
  end function

  ! Returns the cells from `first` to `last`, which count from 1 and are part of the box.
  pure function ob_overlap_cells(first, last) result(box)
    integer, intent(in) :: first(:), last(:)
    type(ob_overlap_box) :: box
    box%low(:size(first)) = first - 1
    box%high(:size(last)) = last
  end function

  ! Returns a halo with the same ghost width on all sides, for a star of this reach. The fields live
  ! until the plan is made.
  function ob_overlap_ghosts(fields, width) result(options)
    type(ob_overlap_field), intent(in), target, contiguous :: fields(:)
    integer, intent(in) :: width
    type(ob_overlap_halo_options) :: options
    options%ghost_low(:fields(1)%dims) = width
    options%ghost_high(:fields(1)%dims) = width
    options%reach = width
    options%fields = c_loc(fields)
    options%field_count = size(fields)
  end function

  ! Returns the message of the last failed call of this thread.
  function ob_overlap_message() result(text)
    character(:), allocatable :: text
    type(ob_overlap_error) :: error
    integer :: length, i
    text = 'no message'
    error%struct_bytes = c_sizeof(error)
    if (ob_overlap_last_error(error) /= 0) return
    length = findloc(error%message, c_null_char, dim=1) - 1
    text = repeat(' ', max(length, 0))
    do i = 1, len(text)
      text(i:i) = error%message(i)
    end do
  end function

  ! Stops the program with the message if a function has failed.
  subroutine ob_overlap_check(status)
    integer(c_int32_t), intent(in) :: status
    if (status == 0) return
    write(error_unit, '(a)') ob_overlap_message()
    error stop 1, quiet=.true.
  end subroutine
end module
