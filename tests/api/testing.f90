! The parts that the Fortran programs of this folder share.
module device_testing
  use outboard_device
  implicit none

contains

  subroutine expect(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    write(error_unit, '(a)') 'failed: ' // what
    error stop 1, quiet=.true.
  end subroutine

  ! Opens the device that this argument of the program names, with a queue; local:cpu without it.
  subroutine open_named(argument, device, queue)
    integer, intent(in) :: argument
    type(ob_device), intent(out) :: device
    type(ob_queue), intent(out) :: queue
    character(255) :: where
    where = 'local:cpu'
    if (command_argument_count() >= argument) call get_command_argument(argument, where)
    call ob_check(ob_device_open(trim(where) // c_null_char, c_null_ptr, device))
    call ob_check(ob_queue_create(device, 0, queue))
  end subroutine

  function buffer_of(device, bytes) result(place)
    type(ob_device), intent(in) :: device
    integer(c_size_t), intent(in) :: bytes
    type(ob_place) :: place
    call ob_check(ob_buffer_create(device, bytes, ob_wait, place%buffer))
  end function

  ! Returns a matrix of small integers: every order of summation of its products is exact.
  pure function small_integers(rows, columns) result(a)
    integer, intent(in) :: rows, columns
    real(c_double) :: a(rows, columns)
    integer :: i, j
    a = reshape([((mod(7 * i + 3 * j, 11) - 5d0, i = 1, rows), j = 1, columns)], shape(a))
  end function
end module
