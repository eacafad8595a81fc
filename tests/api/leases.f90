! The steps of leases.c from Fortran.
module lease_reports
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int32_t), volatile :: seen(4) = 0  ! how often each ob_lease_... was reported

  interface
    function usleep(microseconds) bind(c) result(status)
      import
      integer(c_int32_t), value :: microseconds
      integer(c_int) :: status
    end function
  end interface

contains

  ! The library calls this from one thread.
  subroutine changed(user, what, device) bind(c)
    type(c_ptr), value :: user, device
    integer(c_int32_t), value :: what
    if (c_associated(user) .or. what > size(seen)) return
    seen(what) = seen(what) + 1
    if (c_associated(device)) return
  end subroutine
end module

program leases
  use, intrinsic :: iso_fortran_env, only: output_unit
  use device_testing
  use lease_reports
  implicit none
  integer, parameter :: m = 23, n = 17, k = 31, padded = m + 3
  integer, parameter :: most_waits = 3000  ! of 10 ms each; it ends a test that hangs
  real(c_double), parameter :: poison = -77

  call grow_and_shrink()
  call lose_a_pair()
  print '(a)', 'all right'

contains

  subroutine say_and_wait(word)
    character(*), intent(in) :: word
    character(63) :: line
    print '(a)', word
    flush(output_unit)
    read '(a)', line
  end subroutine

  subroutine wait_a_moment()
    call expect(usleep(10000) == 0, 'a pause')
  end subroutine

  subroutine wait_until_seen(what, times)
    integer(c_int32_t), intent(in) :: what
    integer, intent(in) :: times
    integer :: i
    do i = 1, most_waits
      if (seen(what) >= times) exit
      call wait_a_moment()
    end do
    call expect(seen(what) == times, 'the number of reports of the lease')
  end subroutine

  ! C <- A B of small whole numbers, where A depends on `salt`. The oracle is three loops.
  function multiply(device, salt) result(status)
    type(ob_device), intent(in) :: device
    integer, intent(in) :: salt
    integer(c_int32_t) :: status
    real(c_double), asynchronous :: a(m, k), b(k, n), c(padded, n)
    type(ob_place) :: on_a, on_b, on_c
    type(ob_queue) :: queue
    integer :: i, j
    a = reshape([(mod(i + salt, 7) - 3d0, i = 1, m * k)], shape(a))
    b = reshape([(mod(i, 5) - 2d0, i = 1, k * n)], shape(b))
    c = poison
    status = ob_queue_create(device, 0, queue)
    if (status /= ob_ok) return
    status = ob_buffer_create(device, c_sizeof(a), 0, on_a%buffer)
    if (status == ob_ok) status = ob_buffer_create(device, c_sizeof(b), 0, on_b%buffer)
    if (status == ob_ok) status = ob_buffer_create(device, c_sizeof(c), 0, on_c%buffer)
    if (status == ob_ok) status = ob_write(queue, on_a, a, c_sizeof(a), 0)
    if (status == ob_ok) status = ob_write(queue, on_b, b, c_sizeof(b), 0)
    if (status == ob_ok) status = ob_write(queue, on_c, c, c_sizeof(c), ob_capture)
    if (status == ob_ok) status = ob_call(queue, 'dgemm' // c_null_char, &
        [ob_flag('N'), ob_flag('N'), ob_integer(m), ob_integer(n), ob_integer(k), ob_real(1d0), &
         ob_matrix(on_a, m), ob_matrix(on_b, k), ob_real(0d0), ob_matrix(on_c, padded)], &
        10_c_size_t)
    if (status == ob_ok) status = ob_read(queue, c, on_c, c_sizeof(c), 0)
    if (status == ob_ok) status = ob_queue_synchronize(queue, ob_forever)
    if (status /= ob_ok) return
    do j = 1, n
      do i = 1, padded
        call expect(abs(c(i, j) - oracle(a, b, i, j)) <= 0, 'a product on a device of the lease')
      end do
    end do
    call ob_check(ob_buffer_destroy(on_a%buffer))
    call ob_check(ob_buffer_destroy(on_b%buffer))
    call ob_check(ob_buffer_destroy(on_c%buffer))
    call ob_check(ob_queue_destroy(queue))
  end function

  pure function oracle(a, b, i, j) result(element)
    real(c_double), intent(in) :: a(m, k), b(k, n)
    integer, intent(in) :: i, j
    real(c_double) :: element
    integer :: p
    element = poison
    if (i > m) return
    element = 0
    do p = 1, k
      element = element + a(i, p) * b(p, j)
    end do
  end function

  function acquire(count) result(lease)
    integer, intent(in) :: count
    type(ob_lease) :: lease
    type(ob_request) :: request
    request%struct_bytes = c_sizeof(request)
    request%count = count
    request%exclusive = 1
    request%wait_ms = 20000
    request%seconds = 6
    call ob_check(ob_lease_acquire(request, lease))
    call ob_check(ob_lease_watch(lease, c_funloc(changed), c_null_ptr))
  end function

  function device_of(lease, index) result(device)
    type(ob_lease), intent(in) :: lease
    integer, intent(in) :: index
    type(ob_device) :: device
    call ob_check(ob_lease_device(lease, index, device))
  end function

  subroutine grow_and_shrink()
    type(ob_lease) :: lease
    type(ob_device) :: first, second, none
    lease = acquire(1)
    first = device_of(lease, 0)
    call ob_check(multiply(first, 1))
    call expect(ob_lease_device(lease, 1, none) == ob_invalid_argument, 'it has one device')
    call say_and_wait('one')
    call ob_check(multiply(first, 2))  ! the test waited until the lease was renewed
    call ob_check(ob_lease_grow(lease, 1, 20000_c_int64_t))
    second = device_of(lease, 1)
    call ob_check(multiply(first, 3))
    call ob_check(multiply(second, 4))
    call wait_until_seen(ob_lease_given, 1)
    call expect(ob_lease_grow(lease, 1, 0_c_int64_t) == ob_busy, 'no third device is free')
    call expect(ob_lease_grow(lease, 3, 0_c_int64_t) == ob_unsupported, 'there are fewer than five')
    call say_and_wait('grown')
    call ob_check(ob_lease_shrink(lease, first))
    call expect(multiply(first, 5) == ob_invalid_argument, 'the device was given back')
    none = device_of(lease, 0)
    call expect(c_associated(none%handle, second%handle), 'the other one is left')
    call ob_check(multiply(second, 6))
    call say_and_wait('shrunk')
    call ob_check(ob_lease_release(lease))
    call expect(multiply(second, 7) == ob_invalid_argument, 'the lease was released')
    call expect(ob_lease_release(lease) == ob_invalid_argument, 'it is released once')
    call expect(seen(ob_lease_taken) == 0 .and. seen(ob_lease_gone) == 0, 'nobody took anything')
    call say_and_wait('released')
  end subroutine

  ! Computes on a device until it is refused. The daemon may close the connection before the library
  ! knows why.
  subroutine expect_end(device)
    type(ob_device), intent(in) :: device
    integer(c_int32_t) :: status
    integer :: i
    do i = 1, most_waits
      status = multiply(device, i)
      if (status /= ob_ok) exit
      call wait_a_moment()
    end do
    call expect(any(status == [ob_fenced, ob_connection_lost]), 'the device was taken back')
  end subroutine

  subroutine lose_a_pair()
    type(ob_lease) :: lease, none
    type(ob_device) :: device(2)
    type(ob_request) :: other
    integer :: i
    lease = acquire(2)
    do i = 1, 2
      device(i) = device_of(lease, i - 1)
      call ob_check(multiply(device(i), 8 + i))
    end do
    other%struct_bytes = c_sizeof(other)
    other%count = 1
    call expect(ob_lease_acquire(other, none) == ob_busy, 'this lease has both devices')
    call say_and_wait('pair')
    call ob_check(ob_lease_shrink(lease, device(1)))
    device(1) = device_of(lease, 0)
    call expect(c_associated(device(1)%handle, device(2)%handle), 'the other one is left')
    call ob_check(multiply(device(1), 10))
    call say_and_wait('half')
    call ob_check(ob_lease_grow(lease, 1, 20000_c_int64_t))
    do i = 1, 2
      device(i) = device_of(lease, i - 1)
      call ob_check(multiply(device(i), 10 + i))
    end do
    call say_and_wait('both')
    do i = 1, 2
      call expect_end(device(i))
    end do
    call wait_until_seen(ob_lease_taken, 2)
    call wait_until_seen(ob_lease_gone, 1)
    do i = 1, 2
      call expect(multiply(device(i), 1) == ob_fenced, 'it answers ob_fenced')
    end do
    call expect(ob_lease_device(lease, 0, device(1)) == ob_invalid_argument, 'no device is left')
    call say_and_wait('lost')
    call ob_check(ob_lease_release(lease))
  end subroutine
end program
