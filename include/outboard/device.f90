! The device API of Outboard for Fortran 2018: the functions of outboard/device.h, which says what
! they do, and constructors for their arguments. A program compiles this file, because modules of
! one compiler cannot be read by another, and links to liboutboard.so.1.
!
!   use outboard_device
!   type(ob_device) :: device
!   call ob_check(ob_device_open('node7:7770' // c_null_char, c_null_ptr, device))
!
! Texts for the library end with c_null_char. Arrays that a copy names belong to the copy until its
! queue has passed it, so they are variables with the attribute asynchronous or target, never
! expressions. Sizes are in bytes; unsigned numbers of C are the signed ones of the same size.
module outboard_device
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  public

  integer(c_int32_t), parameter :: ob_ok = 0, ob_invalid_argument = 1, ob_unsupported = 2, &
    ob_out_of_memory = 3, ob_deadline_exceeded = 4, ob_denied = 5, ob_version_mismatch = 6, &
    ob_protocol_error = 7, ob_connection_lost = 8, ob_device_error = 9, ob_unavailable = 10, &
    ob_internal = 11, ob_busy = 12, ob_declined = 13, ob_build_failed = 14, ob_kernel_fault = 15, &
    ob_fenced = 16
  integer(c_int32_t), parameter :: ob_from_nobody = 0, ob_from_caller = 1, ob_from_connection = 2, &
    ob_from_daemon = 3, ob_from_device = 4, ob_from_compiler = 5, ob_from_kernel = 6
  integer(c_int32_t), parameter :: ob_capture = 1, ob_wait = 2, ob_timed = 4
  integer(c_int64_t), parameter :: ob_forever = -1
  integer, parameter :: ob_address_bytes = 512
  integer(c_int32_t), parameter :: ob_may_read = 1, ob_may_write = 2
  integer(c_int32_t), parameter :: ob_standard = 0, ob_strict = 1, ob_fast = 2, ob_emulated = 3
  integer(c_int32_t), parameter :: ob_fft_c2c = 0, ob_fft_r2c = 1, ob_fft_c2r = 2, ob_fft_r2r = 3
  integer(c_int32_t), parameter :: ob_single = 0, ob_double = 1
  integer(c_int32_t), parameter :: ob_portable = 1, ob_opencl = 2, ob_cuda = 3, ob_ptx = 4, &
    ob_cubin = 5
  integer(c_int32_t), parameter :: ob_argument_buffer = 1, ob_argument_scalar = 2, &
    ob_argument_local = 3
  integer(c_int32_t), parameter :: ob_access_read = 1, ob_access_write = 2

  ! Handles.
  type, bind(c) :: ob_device
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(c) :: ob_queue
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(c) :: ob_buffer
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(c) :: ob_event
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(c) :: ob_plan
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(c) :: ob_module
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(c) :: ob_kernel
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(c) :: ob_lease
    type(c_ptr) :: handle = c_null_ptr
  end type

  type, bind(c) :: ob_mailbox
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(c) :: ob_peer
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(c) :: ob_grant
    type(c_ptr) :: handle = c_null_ptr
  end type

  type, bind(c) :: ob_error
    integer(c_size_t) :: struct_bytes = 0
    integer(c_int32_t) :: code = 0
    integer(c_int32_t) :: origin = 0
    integer(c_int64_t) :: command = 0
    character(kind=c_char) :: name(64) = c_null_char
    character(kind=c_char) :: message(1024) = c_null_char
  end type

  type, bind(c) :: ob_place
    type(ob_buffer) :: buffer
    integer(c_int64_t) :: offset_bytes = 0
  end type

  type, bind(c) :: ob_rect
    integer(c_int64_t) :: width_bytes = 0, rows = 0, device_pitch_bytes = 0, host_pitch_bytes = 0
    integer(c_int32_t) :: word_bytes = 0, flags = 0
  end type

  type, bind(c) :: ob_report
    integer(c_size_t) :: struct_bytes = 0
    integer(c_int64_t) :: failed_command = 0, compute_ns = 0, plan_ns = 0, waited_ns = 0
    type(ob_error) :: error
  end type

  type, bind(c) :: ob_device_facts
    integer(c_size_t) :: struct_bytes = 0
    integer(c_int64_t) :: memory_bytes = 0
    real(c_double) :: gflops_double = 0
    integer(c_int32_t) :: host_visible = 0, kernels = 0, big_endian = 0, peers = 0
    character(kind=c_char) :: backend(64) = c_null_char
    character(kind=c_char) :: description(1024) = c_null_char
  end type

  type, bind(c) :: ob_device_options
    integer(c_size_t) :: struct_bytes = 0
    type(c_ptr) :: key_folder = c_null_ptr
    integer(c_int32_t) :: plain = 0, streams = 0, dead_after_ms = 0
  end type

  ! An argument of a routine; ob_flag(), ob_integer() ... make it. The first member is the union.
  type, bind(c) :: ob_operand
    integer(c_int64_t) :: value(2) = 0
    integer(c_int64_t) :: ld = 0
  end type

  type, bind(c) :: ob_fft
    integer(c_size_t) :: struct_bytes = 0
    integer(c_int32_t) :: kind = 0, precision = 0, sign = 0, in_place = 0, rank = 0
    integer(c_int64_t) :: n(7) = 0
    integer(c_int64_t) :: batch = 0
    integer(c_int32_t) :: real(7) = 0
  end type

  ! A form of a module; bytes and architecture are c_loc() of texts.
  type, bind(c) :: ob_variant
    integer(c_int32_t) :: kind = 0, flags = 0
    type(c_ptr) :: bytes = c_null_ptr
    integer(c_size_t) :: count = 0
    type(c_ptr) :: architecture = c_null_ptr
  end type

  ! An argument of a kernel; ob_buffer_argument() and ob_scalar_argument() make it. `as` is the
  ! union.
  type, bind(c) :: ob_argument
    integer(c_int32_t) :: kind = 0, bytes = 0
    integer(c_int64_t) :: as(2) = 0
    integer(c_int64_t) :: extent_bytes = 0
    integer(c_int32_t) :: access = 0, reserved = 0
  end type

  type, bind(c) :: ob_parameter
    integer(c_size_t) :: struct_bytes = 0
    integer(c_int32_t) :: kind = 0, bytes = 0, read_only = 0, count = 0
    character(kind=c_char) :: type(64) = c_null_char
    character(kind=c_char) :: name(64) = c_null_char
  end type

  ! What a program asks of a pool. Texts are c_loc() of strings that end with c_null_char.
  type, bind(c) :: ob_request
    integer(c_size_t) :: struct_bytes = 0
    type(c_ptr) :: pool = c_null_ptr, kind = c_null_ptr, near = c_null_ptr
    integer(c_int32_t) :: count = 0, exclusive = 0, share_percent = 0, wait_ms = 0, seconds = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: memory_bytes = 0
  end type

  integer(c_int32_t), parameter :: ob_lease_given = 1, ob_lease_expires = 2, ob_lease_taken = 3, &
      ob_lease_gone = 4

  interface
    function ob_api() bind(c) result(version)
      import
      integer(c_int32_t) :: version
    end function
    function ob_last_error(error) bind(c) result(status)
      import
      type(ob_error), intent(inout) :: error
      integer(c_int32_t) :: status
    end function

    ! options: c_null_ptr, or c_loc() of ob_device_options
    function ob_device_open(where, options, device) bind(c) result(status)
      import
      character(kind=c_char), intent(in) :: where(*)
      type(c_ptr), value :: options
      type(ob_device), intent(out) :: device
      integer(c_int32_t) :: status
    end function
    function ob_device_get_facts(device, facts) bind(c) result(status)
      import
      type(ob_device), value :: device
      type(ob_device_facts), intent(inout) :: facts
      integer(c_int32_t) :: status
    end function
    function ob_device_close(device) bind(c) result(status)
      import
      type(ob_device), value :: device
      integer(c_int32_t) :: status
    end function

    function ob_buffer_create(device, bytes, flags, buffer) bind(c) result(status)
      import
      type(ob_device), value :: device
      integer(c_int64_t), value :: bytes
      integer(c_int32_t), value :: flags
      type(ob_buffer), intent(out) :: buffer
      integer(c_int32_t) :: status
    end function
    function ob_buffer_destroy(buffer) bind(c) result(status)
      import
      type(ob_buffer), value :: buffer
      integer(c_int32_t) :: status
    end function
    function ob_buffer_map(buffer, address) bind(c) result(status)
      import
      type(ob_buffer), value :: buffer
      type(c_ptr), intent(out) :: address
      integer(c_int32_t) :: status
    end function

    function ob_queue_create(device, flags, queue) bind(c) result(status)
      import
      type(ob_device), value :: device
      integer(c_int32_t), value :: flags
      type(ob_queue), intent(out) :: queue
      integer(c_int32_t) :: status
    end function
    function ob_queue_destroy(queue) bind(c) result(status)
      import
      type(ob_queue), value :: queue
      integer(c_int32_t) :: status
    end function
    function ob_queue_flush(queue) bind(c) result(status)
      import
      type(ob_queue), value :: queue
      integer(c_int32_t) :: status
    end function
    function ob_queue_accuracy(queue, mode) bind(c) result(status)
      import
      type(ob_queue), value :: queue
      integer(c_int32_t), value :: mode
      integer(c_int32_t) :: status
    end function
    function ob_queue_synchronize(queue, timeout_ms, report) bind(c) result(status)
      import
      type(ob_queue), value :: queue
      integer(c_int64_t), value :: timeout_ms
      type(ob_report), intent(inout), optional :: report
      integer(c_int32_t) :: status
    end function

    ! done: c_funloc() of subroutine(user, report) bind(c), with user by value
    function ob_queue_callback(queue, done, user) bind(c) result(status)
      import
      type(ob_queue), value :: queue
      type(c_funptr), value :: done
      type(c_ptr), value :: user
      integer(c_int32_t) :: status
    end function

    function ob_write(queue, to, from, bytes, flags) bind(c) result(status)
      import
      type(ob_queue), value :: queue
      type(ob_place), value :: to
      type(*), intent(in), asynchronous :: from(*)
      integer(c_int64_t), value :: bytes
      integer(c_int32_t), value :: flags
      integer(c_int32_t) :: status
    end function
    function ob_read(queue, to, from, bytes, flags) bind(c) result(status)
      import
      type(ob_queue), value :: queue
      type(*), intent(inout), asynchronous :: to(*)
      type(ob_place), value :: from
      integer(c_int64_t), value :: bytes
      integer(c_int32_t), value :: flags
      integer(c_int32_t) :: status
    end function
    function ob_write_2d(queue, to, from, rect) bind(c) result(status)
      import
      type(ob_queue), value :: queue
      type(ob_place), value :: to
      type(*), intent(in), asynchronous :: from(*)
      type(ob_rect), intent(in) :: rect
      integer(c_int32_t) :: status
    end function
    function ob_read_2d(queue, to, from, rect) bind(c) result(status)
      import
      type(ob_queue), value :: queue
      type(*), intent(inout), asynchronous :: to(*)
      type(ob_place), value :: from
      type(ob_rect), intent(in) :: rect
      integer(c_int32_t) :: status
    end function
    function ob_copy(queue, to, from, bytes) bind(c) result(status)
      import
      type(ob_queue), value :: queue
      type(ob_place), value :: to
      type(ob_place), value :: from
      integer(c_int64_t), value :: bytes
      integer(c_int32_t) :: status
    end function
    function ob_copy_2d(queue, to, from, rect) bind(c) result(status)
      import
      type(ob_queue), value :: queue
      type(ob_place), value :: to
      type(ob_place), value :: from
      type(ob_rect), intent(in) :: rect
      integer(c_int32_t) :: status
    end function
    function ob_fill(queue, to, pattern, pattern_bytes, count) bind(c) result(status)
      import
      type(ob_queue), value :: queue
      type(ob_place), value :: to
      type(*), intent(in) :: pattern(*)
      integer(c_int32_t), value :: pattern_bytes
      integer(c_int64_t), value :: count
      integer(c_int32_t) :: status
    end function

    function ob_event_create(device, flags, event) bind(c) result(status)
      import
      type(ob_device), value :: device
      integer(c_int32_t), value :: flags
      type(ob_event), intent(out) :: event
      integer(c_int32_t) :: status
    end function
    function ob_event_destroy(event) bind(c) result(status)
      import
      type(ob_event), value :: event
      integer(c_int32_t) :: status
    end function
    function ob_event_record(event, queue) bind(c) result(status)
      import
      type(ob_event), value :: event
      type(ob_queue), value :: queue
      integer(c_int32_t) :: status
    end function
    function ob_event_hold(event, queue) bind(c) result(status)
      import
      type(ob_event), value :: event
      type(ob_queue), value :: queue
      integer(c_int32_t) :: status
    end function
    function ob_event_wait(event, timeout_ms) bind(c) result(status)
      import
      type(ob_event), value :: event
      integer(c_int64_t), value :: timeout_ms
      integer(c_int32_t) :: status
    end function

    function ob_event_fd(event, fd) bind(c) result(status)
      import
      type(ob_event), value :: event
      integer(c_int), intent(out) :: fd
      integer(c_int32_t) :: status
    end function
    function ob_event_elapsed_ns(from, to, elapsed_ns) bind(c) result(status)
      import
      type(ob_event), value :: from
      type(ob_event), value :: to
      integer(c_int64_t), intent(out) :: elapsed_ns
      integer(c_int32_t) :: status
    end function

    ! Copies from device to device. An address has ob_address_bytes characters; pass it on as it is.
    function ob_copy_between(from_queue, from, to_queue, to, rect) bind(c) result(status)
      import
      type(ob_queue), value :: from_queue
      type(ob_place), value :: from
      type(ob_queue), value :: to_queue
      type(ob_place), value :: to
      type(ob_rect), intent(in) :: rect
      integer(c_int32_t) :: status
    end function
    function ob_mailbox_open(device, address, mailbox) bind(c) result(status)
      import
      type(ob_device), value :: device
      character(kind=c_char), intent(out) :: address(*)
      type(ob_mailbox), intent(out) :: mailbox
      integer(c_int32_t) :: status
    end function
    function ob_mailbox_close(mailbox) bind(c) result(status)
      import
      type(ob_mailbox), value :: mailbox
      integer(c_int32_t) :: status
    end function
    function ob_peer_connect(device, address, peer) bind(c) result(status)
      import
      type(ob_device), value :: device
      character(kind=c_char), intent(in) :: address(*)
      type(ob_peer), intent(out) :: peer
      integer(c_int32_t) :: status
    end function
    function ob_peer_disconnect(peer) bind(c) result(status)
      import
      type(ob_peer), value :: peer
      integer(c_int32_t) :: status
    end function
    function ob_send(queue, peer, number, from, rect, sent) bind(c) result(status)
      import
      type(ob_queue), value :: queue
      type(ob_peer), value :: peer
      integer(c_int64_t), value :: number
      type(ob_place), value :: from
      type(ob_rect), intent(in) :: rect
      type(ob_event), value :: sent
      integer(c_int32_t) :: status
    end function
    function ob_receive(queue, mailbox, number, to, rect, next, arrived) bind(c) result(status)
      import
      type(ob_queue), value :: queue
      type(ob_mailbox), value :: mailbox
      integer(c_int64_t), value :: number
      type(ob_place), value :: to
      type(ob_rect), intent(in) :: rect
      type(ob_peer), value :: next
      type(ob_event), value :: arrived
      integer(c_int32_t) :: status
    end function

    ! user is c_loc() of a text that ends with c_null_char, or c_null_ptr.
    function ob_grant_create(buffer, offset, bytes, may, user, seconds, uses, address, grant) bind(c) &
        result(status)
      import
      type(ob_buffer), value :: buffer
      integer(c_int64_t), value :: offset
      integer(c_int64_t), value :: bytes
      integer(c_int32_t), value :: may
      type(c_ptr), value :: user
      integer(c_int32_t), value :: seconds
      integer(c_int32_t), value :: uses
      character(kind=c_char), intent(out) :: address(*)
      type(ob_grant), intent(out) :: grant
      integer(c_int32_t) :: status
    end function
    function ob_grant_wait(grant, queue, landed) bind(c) result(status)
      import
      type(ob_grant), value :: grant
      type(ob_queue), value :: queue
      integer(c_int64_t), value :: landed
      integer(c_int32_t) :: status
    end function
    function ob_grant_revoke(grant) bind(c) result(status)
      import
      type(ob_grant), value :: grant
      integer(c_int32_t) :: status
    end function
    function ob_put(queue, address, offset, from, bytes, landed) bind(c) result(status)
      import
      type(ob_queue), value :: queue
      character(kind=c_char), intent(in) :: address(*)
      integer(c_int64_t), value :: offset
      type(ob_place), value :: from
      integer(c_int64_t), value :: bytes
      type(ob_event), value :: landed
      integer(c_int32_t) :: status
    end function
    function ob_get(queue, address, offset, to, bytes, landed) bind(c) result(status)
      import
      type(ob_queue), value :: queue
      character(kind=c_char), intent(in) :: address(*)
      integer(c_int64_t), value :: offset
      type(ob_place), value :: to
      integer(c_int64_t), value :: bytes
      type(ob_event), value :: landed
      integer(c_int32_t) :: status
    end function

    function ob_call(queue, routine, operands, count) bind(c) result(status)
      import
      type(ob_queue), value :: queue
      character(kind=c_char), intent(in) :: routine(*)
      type(ob_operand), intent(in) :: operands(*)
      integer(c_size_t), value :: count
      integer(c_int32_t) :: status
    end function

    function ob_on_devices(devices, device_count, routine, operands, count) bind(c) result(status)
      import
      type(ob_device), intent(in) :: devices(*)
      integer(c_size_t), value :: device_count
      character(kind=c_char), intent(in) :: routine(*)
      type(ob_operand), intent(in) :: operands(*)
      integer(c_size_t), value :: count
      integer(c_int32_t) :: status
    end function

    function ob_plan_create(device, transform, plan) bind(c) result(status)
      import
      type(ob_device), value :: device
      type(ob_fft), intent(in) :: transform
      type(ob_plan), intent(out) :: plan
      integer(c_int32_t) :: status
    end function
    function ob_plan_destroy(plan) bind(c) result(status)
      import
      type(ob_plan), value :: plan
      integer(c_int32_t) :: status
    end function
    function ob_plan_execute(plan, queue, in, out) bind(c) result(status)
      import
      type(ob_plan), value :: plan
      type(ob_queue), value :: queue
      type(ob_place), value :: in
      type(ob_place), value :: out
      integer(c_int32_t) :: status
    end function

    ! text: the size [bytes] goes in and out; c_null_ptr asks for the size that all words need
    function ob_module_load(device, variants, count, options, module) bind(c) result(status)
      import
      type(ob_device), value :: device
      type(ob_variant), intent(in) :: variants(*)
      integer(c_size_t), value :: count
      character(kind=c_char), intent(in), optional :: options(*)
      type(ob_module), intent(out) :: module
      integer(c_int32_t) :: status
    end function
    function ob_module_wait(module, timeout_ms) bind(c) result(status)
      import
      type(ob_module), value :: module
      integer(c_int64_t), value :: timeout_ms
      integer(c_int32_t) :: status
    end function
    function ob_module_log(module, text, bytes) bind(c) result(status)
      import
      type(ob_module), value :: module
      type(c_ptr), value :: text
      integer(c_size_t), intent(inout) :: bytes
      integer(c_int32_t) :: status
    end function
    function ob_module_unload(module) bind(c) result(status)
      import
      type(ob_module), value :: module
      integer(c_int32_t) :: status
    end function

    function ob_kernel_create(module, name, kernel) bind(c) result(status)
      import
      type(ob_module), value :: module
      character(kind=c_char), intent(in) :: name(*)
      type(ob_kernel), intent(out) :: kernel
      integer(c_int32_t) :: status
    end function
    function ob_kernel_destroy(kernel) bind(c) result(status)
      import
      type(ob_kernel), value :: kernel
      integer(c_int32_t) :: status
    end function
    function ob_kernel_get_parameter(kernel, index, parameter) bind(c) result(status)
      import
      type(ob_kernel), value :: kernel
      integer(c_int32_t), value :: index
      type(ob_parameter), intent(inout) :: parameter
      integer(c_int32_t) :: status
    end function
    function ob_kernel_set(kernel, index, argument) bind(c) result(status)
      import
      type(ob_kernel), value :: kernel
      integer(c_int32_t), value :: index
      type(ob_argument), intent(in) :: argument
      integer(c_int32_t) :: status
    end function
    function ob_kernel_run(kernel, queue, groups, group_size) bind(c) result(status)
      import
      type(ob_kernel), value :: kernel
      type(ob_queue), value :: queue
      integer(c_int32_t), intent(in) :: groups(3), group_size(3)
      integer(c_int32_t) :: status
    end function

    function ob_lease_acquire(request, lease) bind(c) result(status)
      import
      type(ob_request), intent(in) :: request
      type(ob_lease), intent(out) :: lease
      integer(c_int32_t) :: status
    end function
    function ob_lease_release(lease) bind(c) result(status)
      import
      type(ob_lease), value :: lease
      integer(c_int32_t) :: status
    end function
    function ob_lease_grow(lease, count, wait_ms) bind(c) result(status)
      import
      type(ob_lease), value :: lease
      integer(c_int32_t), value :: count
      integer(c_int64_t), value :: wait_ms
      integer(c_int32_t) :: status
    end function
    function ob_lease_shrink(lease, device) bind(c) result(status)
      import
      type(ob_lease), value :: lease
      type(ob_device), value :: device
      integer(c_int32_t) :: status
    end function
    function ob_lease_device(lease, index, device) bind(c) result(status)
      import
      type(ob_lease), value :: lease
      integer(c_int32_t), value :: index
      type(ob_device), intent(out) :: device
      integer(c_int32_t) :: status
    end function
    function ob_lease_watch(lease, changed, user) bind(c) result(status)
      import
      type(ob_lease), value :: lease
      type(c_funptr), value :: changed
      type(c_ptr), value :: user
      integer(c_int32_t) :: status
    end function
  end interface

contains

  ! --- operands of ob_call() ---------------------------------------------------------------------

  pure function ob_flag(letter) result(operand)
    character, intent(in) :: letter
    type(ob_operand) :: operand
    character(kind=c_char) :: bytes(8)
    bytes = c_null_char
    bytes(1) = letter
    operand%value(1) = transfer(bytes, operand%value(1))
  end function

  elemental function ob_integer(number) result(operand)
    integer, intent(in) :: number
    type(ob_operand) :: operand
    operand%value(1) = int(number, c_int64_t)
  end function

  pure function ob_real(number) result(operand)
    real(c_double), intent(in) :: number
    type(ob_operand) :: operand
    operand%value(1) = transfer(number, operand%value(1))
  end function

  ! A complex scalar, a variable that must live until ob_call() returns.
  function ob_complex(number) result(operand)
    complex(c_double_complex), intent(in), target :: number
    type(ob_operand) :: operand
    operand%value(1) = transfer(c_loc(number), operand%value(1))
  end function

  ! A matrix with a leading dimension, or a vector with an increment.
  pure function ob_matrix(place, ld) result(operand)
    type(ob_place), intent(in) :: place
    integer, intent(in) :: ld
    type(ob_operand) :: operand
    operand%value = transfer(place, operand%value, 2)
    operand%ld = int(ld, c_int64_t)
  end function

  ! An array in the program's memory, for ob_on_devices(), with its leading dimension.
  function ob_host(array, ld) result(operand)
    type(c_ptr), intent(in) :: array
    integer, intent(in) :: ld
    type(ob_operand) :: operand
    operand%value(1) = transfer(array, operand%value(1))
    operand%ld = int(ld, c_int64_t)
  end function

  ! --- arguments of kernels ----------------------------------------------------------------------

  ! @param access  ob_access_read, ob_access_write, or 0 for both
  pure function ob_buffer_argument(place, access) result(argument)
    type(ob_place), intent(in) :: place
    integer(c_int32_t), intent(in) :: access
    type(ob_argument) :: argument
    argument%kind = ob_argument_buffer
    argument%as = transfer(place, argument%as, 2)
    argument%access = access
  end function

  ! A number of `bytes` bytes at an address, from which ob_kernel_set() copies it.
  pure function ob_scalar_argument(value, bytes) result(argument)
    type(c_ptr), intent(in) :: value
    integer(c_size_t), intent(in) :: bytes
    type(ob_argument) :: argument
    argument%kind = ob_argument_scalar
    argument%bytes = int(bytes, c_int32_t)
    argument%as(1) = transfer(value, argument%as(1))
  end function

  ! --- failures ----------------------------------------------------------------------------------

  ! Returns the message of the last failed call of this thread.
  function ob_message() result(text)
    character(:), allocatable :: text
    type(ob_error) :: error
    integer :: length, i
    error%struct_bytes = c_sizeof(error)
    if (ob_last_error(error) /= ob_ok) then
      text = 'no message'
      return
    end if
    length = findloc(error%message, c_null_char, dim=1) - 1
    allocate(character(max(length, 0)) :: text)
    do i = 1, len(text)
      text(i:i) = error%message(i)
    end do
  end function

  ! Stops the program with the message if a function has failed.
  subroutine ob_check(status)
    integer(c_int32_t), intent(in) :: status
    if (status == ob_ok) return
    write(error_unit, '(a)') ob_message()
    error stop 1, quiet=.true.
  end subroutine
end module
