! Super-instructions in Fortran (outboard/sial.h). Compile this file with the plug-in. It exports
! ob_sial_plugin, which calls a subroutine of the plug-in to learn what it has:
!
!     subroutine outboard_sial_entries() bind(c)
!       use outboard_sial
!       call add_super_instruction('shift', 'ur', shift)
!     end subroutine
!
! A function gets the call and its arguments, and returns 0 or a failure:
!
!     integer(c_int) function shift(call, arguments, count) bind(c)
!       type(c_ptr), value :: call
!       integer(c_int32_t), value :: count
!       type(sial_argument), intent(inout) :: arguments(count)
!       real(c_double), pointer :: x(:)
!       call c_f_pointer(arguments(1)%data, x, [arguments(1)%elements])
!       ...
!
! Threads: as in outboard/sial.h
module outboard_sial
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: sial_argument, sial_call, super_instruction, add_super_instruction, sial_fail, &
            find_int, find_scalar, sial_block, sial_scalar, sial_int, sial_text

  integer(c_int32_t), parameter :: sial_block = 0, sial_scalar = 1, sial_int = 2, sial_text = 3
  integer, parameter :: most_entries = 256, name_length = 64, intents_length = 17
  integer(c_int32_t), parameter :: version = 1

  ! ob_sial_argument. Strides are in elements; `first` and `segments` count from 1 and as the program
  ! does.
  type, bind(c) :: sial_argument
    integer(c_int32_t) :: kind
    character(kind=c_char) :: intent
    integer(c_int32_t) :: rank
    integer(c_int64_t) :: extents(8), strides(8), segments(8), first(8)
    integer(c_int64_t) :: elements
    type(c_ptr) :: data, scalar, integer, text, name
  end type

  ! ob_sial_call.
  type, bind(c) :: sial_call
    integer(c_int32_t) :: version, worker, workers, line
    type(c_ptr) :: program, host
    type(c_funptr) :: fail, print, find_int, find_scalar, find_array, find_key, scratch
  end type

  type, bind(c) :: entry_record
    type(c_ptr) :: name, intents
    type(c_funptr) :: function
    integer(c_int32_t) :: flags
  end type

  type, bind(c) :: table_record
    integer(c_int32_t) :: version, entry_bytes, count
    type(c_ptr) :: entries
  end type

  abstract interface
    integer(c_int) function super_instruction(call, arguments, count) bind(c)
      import :: c_int, c_int32_t, c_ptr, sial_argument
      type(c_ptr), value :: call
      integer(c_int32_t), value :: count
      type(sial_argument), intent(inout) :: arguments(count)
    end function
    subroutine fail_function(call, message) bind(c)
      import :: c_ptr, c_char
      type(c_ptr), value :: call
      character(kind=c_char), intent(in) :: message(*)
    end subroutine
    integer(c_int) function find_int_function(call, name, value) bind(c)
      import :: c_int, c_int64_t, c_ptr, c_char
      type(c_ptr), value :: call
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), intent(out) :: value
    end function
    integer(c_int) function find_scalar_function(call, name, value) bind(c)
      import :: c_int, c_double, c_ptr, c_char
      type(c_ptr), value :: call
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), intent(out) :: value
    end function
  end interface

  interface
    subroutine outboard_sial_entries() bind(c)
    end subroutine
  end interface

  character(kind=c_char), target :: names(name_length, most_entries)
  character(kind=c_char), target :: intents(intents_length, most_entries)
  type(entry_record), target :: entries(most_entries)
  type(table_record), target :: table
  integer :: count = 0

contains

  ! Adds a super-instruction to the plug-in. Those above 256, and longer names than 63, are left out.
  subroutine add_super_instruction(name, its_intents, function)
    character(len=*), intent(in) :: name, its_intents
    procedure(super_instruction) :: function
    if (count == most_entries .or. len_trim(name) >= name_length) return
    if (len_trim(its_intents) >= intents_length) return
    count = count + 1
    call store(name, names(:, count))
    call store(its_intents, intents(:, count))
    entries(count) = entry_record(c_loc(names(1, count)), c_loc(intents(1, count)), &
                                  c_funloc(function), 0_c_int32_t)
  end subroutine

  subroutine store(text, into)
    character(len=*), intent(in) :: text
    character(kind=c_char), intent(out) :: into(:)
    integer :: i
    into = c_null_char
    do i = 1, len_trim(text)
      into(i) = text(i:i)
    end do
  end subroutine

  ! Keeps a message for the user. Return another value than 0 after it.
  subroutine sial_fail(call, message)
    type(c_ptr), value :: call
    character(len=*), intent(in) :: message
    type(sial_call), pointer :: its
    procedure(fail_function), pointer :: fail
    call c_f_pointer(call, its)
    call c_f_procpointer(its%fail, fail)
    call fail(call, message // c_null_char)
  end subroutine

  ! Returns whether the job has an int of this name, and its value.
  logical function find_int(call, name, value)
    type(c_ptr), value :: call
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(out) :: value
    type(sial_call), pointer :: its
    procedure(find_int_function), pointer :: find
    call c_f_pointer(call, its)
    call c_f_procpointer(its%find_int, find)
    find_int = find(call, name // c_null_char, value) == 0
  end function

  ! Returns whether the job has a scalar of this name, and its value.
  logical function find_scalar(call, name, value)
    type(c_ptr), value :: call
    character(len=*), intent(in) :: name
    real(c_double), intent(out) :: value
    type(sial_call), pointer :: its
    procedure(find_scalar_function), pointer :: find
    call c_f_pointer(call, its)
    call c_f_procpointer(its%find_scalar, find)
    find_scalar = find(call, name // c_null_char, value) == 0
  end function

  function ob_sial_plugin() bind(c) result(address)
    type(c_ptr) :: address
    if (count == 0) call outboard_sial_entries()
    table = table_record(version, int(c_sizeof(entries(1)), c_int32_t), int(count, c_int32_t), &
                         c_loc(entries(1)))
    address = c_loc(table)
  end function
end module
