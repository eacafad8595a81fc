! A plug-in in Fortran: it finds the largest absolute value in a block.
module largest
  use, intrinsic :: iso_c_binding
  use outboard_sial
  implicit none
contains
  integer(c_int) function find_largest(call, arguments, count) bind(c)
    type(c_ptr), value :: call
    integer(c_int32_t), value :: count
    type(sial_argument), intent(inout) :: arguments(count)
    real(c_double), pointer :: block(:), value
    find_largest = 1
    if (arguments(1)%kind /= sial_block .or. arguments(2)%kind /= sial_scalar) then
      call sial_fail(call, 'largest_element takes a block and a scalar')
      return
    end if
    call c_f_pointer(arguments(1)%data, block, [arguments(1)%elements])
    call c_f_pointer(arguments(2)%scalar, value)
    value = maxval(abs(block))
    find_largest = 0
  end function
end module

subroutine outboard_sial_entries() bind(c)
  use largest
  use outboard_sial
  call add_super_instruction('largest_element', 'rw', find_largest)
end subroutine
