! The emitted functions of outboard/device_routines.f90: all of them compile, and those that are
! called here compute. Numbers are small integers, so results are exact. The argument names the
! device.
program routines
  use outboard_device_routines
  use device_testing
  implicit none
  type(ob_device) :: device
  type(ob_queue) :: queue

  call open_named(1, device, queue)
  call real_product()
  call complex_product()
  call solution()
  call expect(ob_dgemm(queue, 'X', 'N', 1, 1, 1, 1d0, ob_place(), 1, ob_place(), 1, 0d0, &
                       ob_place(), 1) == ob_invalid_argument, 'an illegal flag is refused')
  call ob_check(ob_device_close(device))
  print '(a)', 'all right'

contains

  ! Returns a buffer that holds the bytes at an address.
  function held(from, bytes) result(place)
    real(c_double), intent(in) :: from(*)
    integer(c_int64_t), intent(in) :: bytes
    type(ob_place) :: place
    place = buffer_of(device, bytes)
    call ob_check(ob_write(queue, place, from, bytes, ob_capture))
  end function

  subroutine real_product()
    real(c_double), asynchronous :: a(2, 3), b(3, 2), c(2, 2), before(2, 2)
    type(ob_place) :: on_c
    a = reshape([1, 2, 3, 4, 5, 6], [2, 3])
    b = reshape([1, 0, 2, 3, 1, 1], [3, 2])
    before = 7
    on_c = held(before, 32_8)
    call ob_check(ob_dgemm(queue, 'N', 'N', 2, 2, 3, 2d0, held(a, 48_8), 2, held(b, 48_8), 3, 1d0, &
                           on_c, 2))
    c = -1
    call ob_check(ob_read(queue, c, on_c, 32_8, ob_wait))
    call expect(all(c == 2 * matmul(a, b) + before), 'dgemm')
  end subroutine

  subroutine complex_product()
    real(c_double), asynchronous :: a(2), b(2), c(2)
    complex(c_double_complex), target :: i = (0, 1), zero = (0, 0)
    complex(c_double_complex) :: right
    type(ob_place) :: on_c
    a = [1, 2]
    b = [3, 4]
    c = 9
    on_c = held(c, 16_8)
    call ob_check(ob_zgemm(queue, 'N', 'C', 1, 1, 1, i, held(a, 16_8), 1, held(b, 16_8), 1, zero, &
                           on_c, 1))
    call ob_check(ob_read(queue, c, on_c, 16_8, ob_wait))
    right = i * cmplx(a(1), a(2), c_double) * cmplx(b(1), -b(2), c_double)
    call expect(c(1) == real(right) .and. c(2) == aimag(right), 'zgemm')
  end subroutine

  subroutine solution()
    real(c_double), asynchronous :: a(4), b(2), unset(2)
    integer(c_int64_t), asynchronous :: pivots(2), info(1)
    type(ob_place) :: on_b, on_pivots, on_info
    a = [0, 1, 2, 3]  ! 2 y = 4, x + 3 y = 7
    b = [4, 7]
    unset = -1
    on_b = held(b, 16_8)
    on_pivots = held(unset, 16_8)
    on_info = held(unset, 8_8)
    call ob_check(ob_dgesv(queue, 2, 1, held(a, 32_8), 2, on_pivots, on_b, 2, on_info))
    call ob_check(ob_read(queue, b, on_b, 16_8, 0))
    call ob_check(ob_read(queue, pivots, on_pivots, 16_8, 0))
    call ob_check(ob_read(queue, info, on_info, 8_8, ob_wait))
    call expect(all(b == [1, 2]) .and. all(pivots == 2) .and. info(1) == 0, 'dgesv')
  end subroutine
end program
