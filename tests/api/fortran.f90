! The device API from Fortran: every struct of the module is read or written by the library here, so
! that a wrong member shows. The argument names the device.
program fortran
  use device_testing
  implicit none
  integer, parameter :: m = 37, n = 29, k = 41, points = 64
  type(ob_device) :: device
  type(ob_queue) :: queue

  call open_named(1, device, queue)
  call facts_are_read()
  call products_are_right()
  call complex_scalars_are_right()
  call rectangles_are_copied()
  call copies_stay_on_the_device()
  call transforms_are_right()
  call fills_and_callbacks_work()
  call kernels_run()
  call leases_are_asked_for()
  call failures_are_described()
  call ob_check(ob_device_close(device))
  call options_are_read()
  print '(a)', 'all right'

contains

  ! Returns the characters before the null character.
  pure function text_of(chars) result(text)
    character(kind=c_char), intent(in) :: chars(:)
    character(size(chars)) :: text
    integer :: i
    text = ''
    do i = 1, size(chars)
      if (chars(i) == c_null_char) exit
      text(i:i) = chars(i)
    end do
  end function

  subroutine facts_are_read()
    type(ob_device_facts) :: facts
    facts%struct_bytes = c_sizeof(facts)
    call ob_check(ob_device_get_facts(device, facts))
    call expect(any(text_of(facts%backend) == ['cpu   ', 'opencl', 'cuda  ']), 'backend')
    call expect(facts%memory_bytes > 2**20, 'memory_bytes')
    call expect(facts%gflops_double >= 0, 'gflops_double')
    call expect(facts%big_endian == 0 .or. facts%big_endian == 1, 'big_endian')
    call expect(facts%description(1) /= c_null_char, 'description')
    call expect(shiftr(ob_api(), 16) == 1, 'ob_api')
  end subroutine

  subroutine products_are_right()
    real(c_double), asynchronous :: a(m, k), b(k, n), c(m, n)
    type(ob_place) :: on_a, on_b, on_c
    type(ob_report) :: report
    a = small_integers(m, k)
    b = small_integers(k, n)
    c = -77
    on_a = buffer_of(device, c_sizeof(a))
    on_b = buffer_of(device, c_sizeof(b))
    on_c = buffer_of(device, c_sizeof(c))
    call ob_check(ob_write(queue, on_a, a, c_sizeof(a), 0))
    call ob_check(ob_write(queue, on_b, b, c_sizeof(b), ob_capture))
    call ob_check(ob_call(queue, 'dgemm' // c_null_char, &
      [ob_flag('N'), ob_flag('N'), ob_integer(m), ob_integer(n), ob_integer(k), ob_real(2d0), &
       ob_matrix(on_a, m), ob_matrix(on_b, k), ob_real(0d0), ob_matrix(on_c, m)], 10_c_size_t))
    call ob_check(ob_read(queue, c, on_c, c_sizeof(c), 0))
    report%struct_bytes = c_sizeof(report)
    call ob_check(ob_queue_synchronize(queue, ob_forever, report))
    call expect(all(abs(c - 2 * matmul(a, b)) <= 0), 'a product')
    call expect(report%failed_command == 0 .and. report%error%code == ob_ok, 'a report')
    call expect(report%compute_ns > 0 .and. report%compute_ns < 60 * 10_c_int64_t**9, 'compute_ns')
    call ob_check(ob_buffer_destroy(on_a%buffer))
  end subroutine

  subroutine complex_scalars_are_right()
    complex(c_double_complex), asynchronous :: x(3) = [(1, 2), (3, 4), (5, 6)], scaled(3)
    complex(c_double_complex), target :: factor = (0, 2)
    type(ob_place) :: on_x
    on_x = buffer_of(device, c_sizeof(x))
    call ob_check(ob_write(queue, on_x, x, c_sizeof(x), 0))
    call ob_check(ob_call(queue, 'zscal' // c_null_char, &
      [ob_integer(3), ob_complex(factor), ob_matrix(on_x, 1)], 3_c_size_t))
    call ob_check(ob_read(queue, scaled, on_x, c_sizeof(x), ob_wait))
    call expect(all(abs(scaled - factor * x) <= 0), 'a complex scalar')
  end subroutine

  ! The block of rows 2 to 4 and columns 3 to 6, there and back.
  subroutine rectangles_are_copied()
    real(c_float), asynchronous :: a(9, 8), b(5, 8)
    type(ob_place) :: on_a
    type(ob_rect) :: rect
    integer :: i, j
    a = reshape([((10. * i + j, i = 1, 9), j = 1, 8)], shape(a))
    b = -1
    on_a = buffer_of(device, 3 * 4 * 4_c_size_t)
    rect%width_bytes = 3 * 4
    rect%rows = 4
    rect%word_bytes = 4
    rect%device_pitch_bytes = 3 * 4
    rect%host_pitch_bytes = 9 * 4
    call ob_check(ob_write_2d(queue, on_a, a(2, 3), rect))
    rect%host_pitch_bytes = 5 * 4
    rect%flags = ob_wait
    call ob_check(ob_read_2d(queue, b, on_a, rect))
    call expect(all(abs(b(1:3, 1:4) - a(2:4, 3:6)) <= 0), 'a rectangle')
    call expect(all(abs(b(4:, :) + 1) <= 0) .and. all(abs(b(:, 5:) + 1) <= 0), 'beside a rectangle')
  end subroutine

  ! Every second number, then all; the copy of a device that the host maps lies in its memory.
  subroutine copies_stay_on_the_device()
    real(c_double), asynchronous :: x(points), y(points)
    real(c_double), parameter :: none(1) = [-1d0]
    real(c_double), pointer :: in_memory(:)
    type(ob_place) :: from, half, whole
    type(ob_rect) :: every_second
    type(ob_device_facts) :: facts
    type(c_ptr) :: mapped
    integer(c_int32_t) :: status
    integer :: i
    x = [(real(i, c_double), i = 1, points)]
    from = buffer_of(device, c_sizeof(x))
    half = buffer_of(device, c_sizeof(x))
    whole = buffer_of(device, c_sizeof(x))
    every_second%width_bytes = 8
    every_second%rows = points / 2
    every_second%word_bytes = 8
    every_second%device_pitch_bytes = 16
    every_second%host_pitch_bytes = 16
    call ob_check(ob_queue_accuracy(queue, ob_strict))
    call ob_check(ob_write(queue, from, x, c_sizeof(x), 0))
    call ob_check(ob_fill(queue, half, none, 8, int(points, c_int64_t)))
    call ob_check(ob_copy_2d(queue, half, from, every_second))
    call ob_check(ob_copy(queue, whole, half, c_sizeof(x)))
    call ob_check(ob_read(queue, y, whole, c_sizeof(x), ob_wait))
    call ob_check(ob_queue_accuracy(queue, ob_standard))
    call expect(all(abs(y(1::2) - x(1::2)) <= 0) .and. all(abs(y(2::2) + 1) <= 0), 'copies')
    facts%struct_bytes = c_sizeof(facts)
    call ob_check(ob_device_get_facts(device, facts))
    status = ob_buffer_map(whole%buffer, mapped)
    if (facts%host_visible == 0) then
      call expect(status == ob_unsupported, 'memory that is not mapped')
      return
    end if
    call ob_check(status)
    call c_f_pointer(mapped, in_memory, [points])
    call expect(all(abs(in_memory - y) <= 0), 'mapped memory')
  end subroutine

  ! The transform of a wave has one element.
  subroutine transforms_are_right()
    complex(c_double_complex), asynchronous :: wave(points), spectrum(points)
    real(c_double), parameter :: pi = acos(-1d0)
    type(ob_place) :: in, out
    type(ob_fft) :: transform
    type(ob_plan) :: plan
    type(ob_event) :: event
    integer :: i
    wave = [(exp(cmplx(0, 2 * pi * 5 * i / points, c_double)), i = 0, points - 1)]
    in = buffer_of(device, c_sizeof(wave))
    out = buffer_of(device, c_sizeof(wave))
    transform%struct_bytes = c_sizeof(transform)
    transform%kind = ob_fft_c2c
    transform%precision = ob_double
    transform%sign = -1
    transform%rank = 1
    transform%n(1) = points
    transform%batch = 1
    call ob_check(ob_plan_create(device, transform, plan))
    call ob_check(ob_event_create(device, 0, event))
    call ob_check(ob_write(queue, in, wave, c_sizeof(wave), 0))
    call ob_check(ob_plan_execute(plan, queue, in, out))
    call ob_check(ob_read(queue, spectrum, out, c_sizeof(wave), 0))
    call ob_check(ob_event_record(event, queue))
    call ob_check(ob_event_wait(event, ob_forever))
    spectrum(6) = spectrum(6) - points
    call expect(maxval(abs(spectrum)) < 1d-12 * points, 'a transform')
    call ob_check(ob_plan_destroy(plan))
    call ob_check(ob_event_destroy(event))
  end subroutine

  ! A callback runs after the commands before it.
  subroutine fills_and_callbacks_work()
    integer(c_int64_t), asynchronous :: numbers(points)
    integer(c_int64_t), parameter :: pattern(1) = [81985529216486895_c_int64_t]
    integer(c_int), target :: called
    integer(c_int) :: fd
    integer(c_int64_t) :: elapsed_ns
    type(ob_event) :: before, after
    type(ob_place) :: on
    on = buffer_of(device, c_sizeof(numbers))
    numbers = 0
    called = 0
    call ob_check(ob_event_create(device, ob_timed, before))
    call ob_check(ob_event_create(device, ob_timed, after))
    call ob_check(ob_event_record(before, queue))
    call ob_check(ob_fill(queue, on, pattern, 8, int(points, c_int64_t)))
    call ob_check(ob_event_record(after, queue))
    call ob_check(ob_queue_callback(queue, c_funloc(count_up), c_loc(called)))
    call ob_check(ob_read(queue, numbers, on, c_sizeof(numbers), ob_wait))
    call expect(all(numbers == pattern(1)), 'a fill')
    call ob_check(ob_event_fd(after, fd))
    call expect(fd >= 0, 'a descriptor')
    call ob_check(ob_event_wait(after, ob_forever))
    call ob_check(ob_event_elapsed_ns(before, after, elapsed_ns))
    call expect(elapsed_ns >= 0 .and. elapsed_ns < 60 * 10_c_int64_t**9, 'a time between events')
    call ob_check(ob_event_destroy(before))
    call ob_check(ob_event_destroy(after))
    call ob_check(ob_queue_destroy(queue))  ! waits for the callback
    call expect(called == 1, 'a callback')
    call ob_check(ob_queue_create(device, 0, queue))
  end subroutine

  subroutine count_up(user, report) bind(c)
    type(c_ptr), value :: user
    type(ob_report), intent(in) :: report
    integer(c_int), pointer :: called
    call c_f_pointer(user, called)
    if (report%error%code == ob_ok) called = called + 1
  end subroutine

  ! Where kernels run: y(i) <- 3 x(i) + y(i), for small integers.
  subroutine kernels_run()
    character(*), parameter :: text = '__kernel void axpy(double a, __global const double* x, ' // &
      '__global double* y) { y[get_global_id(0)] += a * x[get_global_id(0)]; }' // c_null_char
    character(len(text)), target :: source = text
    real(c_double), asynchronous :: x(points), y(points), expected(points)
    real(c_double), target :: factor = 3
    type(ob_device_facts) :: facts
    type(ob_variant) :: variant
    type(ob_module) :: module
    type(ob_kernel) :: kernel
    type(ob_parameter) :: parameter
    type(ob_place) :: on_x, on_y
    integer(c_size_t) :: log_bytes
    integer :: i
    facts%struct_bytes = c_sizeof(facts)
    call ob_check(ob_device_get_facts(device, facts))
    variant%kind = ob_portable
    variant%bytes = c_loc(source)
    if (facts%kernels == 0) then
      call expect(ob_module_load(device, [variant], 1_c_size_t, module=module) == ob_unsupported, &
                  'kernels that do not run here')
      return
    end if
    x = [(real(i, c_double), i = 1, points)]
    y = [(real(7 * i, c_double), i = 1, points)]
    expected = 3 * x + y
    on_x = buffer_of(device, c_sizeof(x))
    on_y = buffer_of(device, c_sizeof(y))
    call ob_check(ob_module_load(device, [variant], 1_c_size_t, module=module))
    call ob_check(ob_kernel_create(module, 'axpy' // c_null_char, kernel))
    call ob_check(ob_kernel_set(kernel, 0, ob_scalar_argument(c_loc(factor), c_sizeof(factor))))
    call ob_check(ob_kernel_set(kernel, 1, ob_buffer_argument(on_x, ob_access_read)))
    call ob_check(ob_kernel_set(kernel, 2, ob_buffer_argument(on_y, 0)))
    call ob_check(ob_write(queue, on_x, x, c_sizeof(x), 0))
    call ob_check(ob_write(queue, on_y, y, c_sizeof(y), 0))
    call ob_check(ob_kernel_run(kernel, queue, [points / 16, 1, 1], [16, 1, 1]))
    call ob_check(ob_read(queue, y, on_y, c_sizeof(y), ob_wait))
    call expect(all(abs(y - expected) <= 0), 'a kernel')
    call ob_check(ob_module_wait(module, ob_forever))
    log_bytes = 0
    call ob_check(ob_module_log(module, c_null_ptr, log_bytes))
    call expect(log_bytes >= 1, 'the size of a log')
    parameter%struct_bytes = c_sizeof(parameter)
    call ob_check(ob_kernel_get_parameter(kernel, 1, parameter))
    call expect(parameter%kind == ob_argument_buffer .and. parameter%bytes == 8, 'a parameter')
    call expect(parameter%read_only == 1 .and. parameter%count == 3, 'a read-only parameter')
    call expect(all(parameter%type(1:8) == ['d', 'o', 'u', 'b', 'l', 'e', '*', c_null_char]), &
                'the type of a parameter')
    call expect(all(parameter%name(1:2) == ['x', c_null_char]), 'the name of a parameter')
    call ob_check(ob_kernel_destroy(kernel))
    call ob_check(ob_module_unload(module))
  end subroutine

  subroutine failures_are_described()
    real(c_double), asynchronous :: x(2)
    type(ob_place) :: on_x
    type(ob_error) :: error
    character(:), allocatable :: message
    on_x = buffer_of(device, 8_c_size_t)
    call expect(ob_read(queue, x, on_x, c_sizeof(x), 0) == ob_invalid_argument, 'a refusal')
    error%struct_bytes = c_sizeof(error)
    call ob_check(ob_last_error(error))
    call expect(error%code == ob_invalid_argument .and. error%origin == ob_from_caller, 'an error')
    message = ob_message()
    call expect(index(message, '16 bytes') > 0 .and. index(message, c_null_char) == 0, message)
  end subroutine

  subroutine leases_are_asked_for()
    type(ob_request) :: request
    type(ob_lease) :: lease
    type(ob_device) :: other
    request%struct_bytes = c_sizeof(request)
    call expect(ob_lease_acquire(request, lease) == ob_invalid_argument, 'a lease of 0 devices')
    request%count = 1
    call expect(ob_lease_acquire(request, lease) == ob_invalid_argument, 'no pool is named')
    call expect(ob_lease_grow(lease, 1, -1_c_int64_t) == ob_invalid_argument, 'no lease')
    call expect(ob_lease_shrink(lease, device) == ob_invalid_argument, 'no lease')
    call expect(ob_lease_device(lease, 0, other) == ob_invalid_argument, 'no lease')
    call expect(ob_lease_watch(lease, c_null_funptr, c_null_ptr) == ob_invalid_argument, 'no lease')
    call expect(ob_lease_release(lease) == ob_invalid_argument, 'no lease')
  end subroutine

  subroutine options_are_read()
    type(ob_device_options), target :: options
    type(ob_device) :: other
    options%struct_bytes = c_sizeof(options)
    options%streams = 17
    call expect(ob_device_open('127.0.0.1:1' // c_null_char, c_loc(options), other) == &
                ob_invalid_argument, 'options')
  end subroutine
end program
