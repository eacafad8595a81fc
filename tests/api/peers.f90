! The cases of peers.c from Fortran.
program peers
  use device_testing
  implicit none
  integer, parameter :: points = 4096, n = 48
  integer(c_int64_t), parameter :: bytes = points * 8_c_int64_t
  type(ob_device) :: device(2)
  type(ob_queue) :: queue(2)
  type(ob_place) :: place(2)
  type(ob_rect) :: whole
  integer :: side

  call expect(command_argument_count() == 2, 'two names of devices are needed')
  whole = ob_rect(bytes, 1, bytes, bytes, 8, 0)
  do side = 1, 2
    call open_named(side, device(side), queue(side))
    place(side) = buffer_of(device(side), bytes)
  end do
  call copy_between()
  call hold_for_the_other()
  call send_and_receive()
  call put_and_get()
  call compute_on_both()
  do side = 1, 2
    call ob_check(ob_device_close(device(side)))
  end do
  print '(a)', 'all right'

contains

  subroutine set(side, number)
    integer, intent(in) :: side
    real(c_double), intent(in) :: number
    real(c_double) :: pattern(1)
    pattern = number
    call ob_check(ob_fill(queue(side), place(side), pattern, 8, int(points, c_int64_t)))
  end subroutine

  subroutine expect_all(side, number, what)
    integer, intent(in) :: side
    real(c_double), intent(in) :: number
    character(*), intent(in) :: what
    real(c_double), asynchronous :: read(points)
    read = -7
    call ob_check(ob_read(queue(side), read, place(side), bytes, ob_wait))
    call expect(all(abs(read - number) <= 0), what)
  end subroutine

  subroutine copy_between()
    call set(1, 3d0)
    call set(2, -1d0)
    call ob_check(ob_copy_between(queue(1), place(1), queue(2), place(2), whole))
    call expect_all(2, 3d0, 'a copy between devices')
  end subroutine

  subroutine hold_for_the_other()
    type(ob_event) :: done
    integer :: i
    call ob_check(ob_event_create(device(1), 0, done))
    call set(2, 0d0)
    do i = 1, 100
      call set(1, real(i, c_double))
    end do
    call ob_check(ob_event_record(done, queue(1)))
    call ob_check(ob_event_hold(done, queue(2)))
    call ob_check(ob_copy_between(queue(1), place(1), queue(2), place(2), whole))
    call expect_all(2, 100d0, 'an event of another device')
    call ob_check(ob_event_destroy(done))
  end subroutine

  subroutine send_and_receive()
    character(kind=c_char) :: address(ob_address_bytes)
    type(ob_mailbox) :: mailbox
    type(ob_peer) :: peer
    type(ob_event) :: sent
    integer(c_int32_t) :: opened
    opened = ob_mailbox_open(device(2), address, mailbox)
    if (opened == ob_unsupported) return
    call ob_check(opened)
    opened = ob_peer_connect(device(1), address, peer)
    if (opened == ob_unsupported) return
    call ob_check(opened)
    call ob_check(ob_event_create(device(1), 0, sent))
    call set(1, 5d0)
    call set(2, -1d0)
    call ob_check(ob_receive(queue(2), mailbox, 7_c_int64_t, place(2), whole, ob_peer(), ob_event()))
    call ob_check(ob_send(queue(1), peer, 7_c_int64_t, place(1), whole, sent))
    call ob_check(ob_queue_flush(queue(2)))
    call ob_check(ob_event_hold(sent, queue(1)))
    call set(1, 6d0)  ! behind the message
    call expect_all(2, 5d0, 'a message')
    call ob_check(ob_event_destroy(sent))
    call ob_check(ob_peer_disconnect(peer))
    call ob_check(ob_mailbox_close(mailbox))
  end subroutine

  subroutine put_and_get()
    character(kind=c_char) :: address(ob_address_bytes)
    type(ob_grant) :: grant
    integer(c_int32_t) :: made
    made = ob_grant_create(place(2)%buffer, 0_c_int64_t, bytes, ior(ob_may_read, ob_may_write), &
                           c_null_ptr, 60, 0, address, grant)
    if (made == ob_unsupported) return
    call ob_check(made)
    call set(1, 8d0)
    call ob_check(ob_put(queue(1), address, 0_c_int64_t, place(1), bytes, ob_event()))
    made = ob_queue_synchronize(queue(1), ob_forever)
    if (made == ob_unsupported) return
    call ob_check(made)
    call ob_check(ob_grant_wait(grant, queue(2), 1_c_int64_t))
    call expect_all(2, 8d0, 'a put')
    call set(2, 9d0)
    call ob_check(ob_queue_synchronize(queue(2), ob_forever))
    call ob_check(ob_get(queue(1), address, 0_c_int64_t, place(1), bytes, ob_event()))
    call expect_all(1, 9d0, 'a get')
    call ob_check(ob_grant_revoke(grant))
    call ob_check(ob_get(queue(1), address, 0_c_int64_t, place(1), bytes, ob_event()))
    call expect(ob_queue_synchronize(queue(1), ob_forever) == ob_denied, 'a revoked grant')
  end subroutine

  subroutine compute_on_both()
    real(c_double), target :: a(n, n), c(n, n)
    a = small_integers(n, n)
    c = -77
    call ob_check(ob_on_devices(device, 2_c_size_t, 'dgemm' // c_null_char, &
        [ob_flag('N'), ob_flag('N'), ob_integer(n), ob_integer(n), ob_integer(n), ob_real(2d0), &
         ob_host(c_loc(a), n), ob_host(c_loc(a), n), ob_real(0d0), ob_host(c_loc(c), n)], &
        10_c_size_t))
    call expect(all(abs(c - 2 * matmul(a, a)) <= 0), 'a product on both devices')
  end subroutine
end program
