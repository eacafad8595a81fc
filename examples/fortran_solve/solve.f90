! A matrix product with DGEMM and a linear system with DGESV.
! usage: example_fortran [N]     matrices of N x N, by default 800

program solve
  implicit none
  integer, parameter :: dp = kind(1.0d0), columns = 4
  integer :: n, info, unit, length
  integer, allocatable :: pivots(:)
  real(dp), allocatable :: a(:, :), b(:, :), c(:, :), lu(:, :), x(:, :), v(:)
  real(dp) :: residual, limit
  logical :: good
  character(len=1024) :: text
  external :: dgemm, dgesv

  n = 800
  if (command_argument_count() > 0) then
    call get_command_argument(1, text)
    read (text, *) n
  end if
  allocate (a(n, n), b(n, n), c(n, n), lu(n, n), x(n, columns), v(n), pivots(n))
  call fill(a)
  call fill(b)
  call fill(x)
  v = b(:, 1)
  limit = 10*n*epsilon(1.0_dp)

  call dgemm('N', 'T', n, n, n, 1.0_dp, a, n, b, n, 0.0_dp, c, n)
  residual = norm2(times(c, v) - times(a, times(transpose(b), v)))/(norm2(a)*norm2(b)*norm2(v))
  good = residual <= limit
  print '(a, i0, a, i0, a, es8.1, a)', 'product of two matrices, ', n, ' x ', n, &
    ': residual ', residual, verdict()

  lu = a
  b(:, 1:columns) = x
  call dgesv(n, columns, lu, n, pivots, x, n, info)
  residual = norm2(matmul(a, x) - b(:, 1:columns))/(norm2(a)*norm2(x))
  good = good .and. info == 0 .and. residual <= limit
  print '(a, i0, a, es8.1, a)', 'linear system, ', columns, &
    ' right-hand sides: residual ', residual, verdict()

  call get_environment_variable('OUTBOARD_EXAMPLE_OUTPUT', text, length)
  if (length > 0) then
    open (newunit=unit, file=trim(text), access='stream', form='unformatted', status='replace')
    write (unit) c, x
    close (unit)
  end if
  if (.not. good) stop 1

contains

  !> The same numbers every time, so that two runs can be compared (Park and Miller's generator).
  subroutine fill(m)
    real(dp), intent(out) :: m(:, :)
    integer(kind=8), save :: state = 2024
    integer :: i, j
    do j = 1, size(m, 2)
      do i = 1, size(m, 1)
        state = mod(state*48271_8, 2147483647_8)
        m(i, j) = 2*real(state, dp)/2147483647.0_dp - 1
      end do
    end do
  end subroutine fill

  !> Matrix times vector in plain loops: the check must not use what it checks.
  function times(m, w) result(y)
    real(dp), intent(in) :: m(:, :), w(:)
    real(dp) :: y(size(m, 1))
    integer :: j
    y = 0
    do j = 1, size(m, 2)
      y = y + m(:, j)*w(j)
    end do
  end function times

  function verdict()
    character(len=8) :: verdict
    verdict = merge(' (good) ', ' (BAD)  ', good)
  end function verdict

end program solve
