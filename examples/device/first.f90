! y <- 2 x + y on a device.
program first
  use outboard_device
  implicit none
  real(c_double), target :: x(4) = [1, 2, 3, 4], y(4) = [10, 20, 30, 40]
  character(255) :: where = 'local:cpu'
  type(ob_device) :: device
  type(ob_queue) :: queue
  type(ob_place) :: on_x, on_y

  if (command_argument_count() > 0) call get_command_argument(1, where)
  call ob_check(ob_device_open(trim(where) // c_null_char, c_null_ptr, device))
  call ob_check(ob_queue_create(device, 0, queue))
  call ob_check(ob_buffer_create(device, c_sizeof(x), 0, on_x%buffer))
  call ob_check(ob_buffer_create(device, c_sizeof(y), 0, on_y%buffer))
  call ob_check(ob_write(queue, on_x, x, c_sizeof(x), 0))
  call ob_check(ob_write(queue, on_y, y, c_sizeof(y), 0))
  call ob_check(ob_call(queue, 'daxpy' // c_null_char, &
      [ob_integer(4), ob_real(2d0), ob_matrix(on_x, 1), ob_matrix(on_y, 1)], 4_c_size_t))
  call ob_check(ob_read(queue, y, on_y, c_sizeof(y), 0))
  call ob_check(ob_queue_synchronize(queue, ob_forever))
  call ob_check(ob_device_close(device))
  print '(*(g0, :, " "))', nint(y)
end program
