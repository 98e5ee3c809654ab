! hydro is the I/O of a hydrodynamics code, as the second program of May's paper was: it
! reads the state from a restart file, computes steps of a diffusion on a grid, writes a dump
! each EVERY steps as unformatted sequential records, and reads each dump again.
!
!	hydro make DIRECTORY N             writes the restart file of a grid of N**3
!	hydro run  DIRECTORY N STEPS EVERY
program hydro
  implicit none
  integer, parameter :: fields = 5
  character(len=256) :: what, directory, word
  integer :: n, steps, every, step, f, k
  double precision, allocatable :: u(:,:,:,:), v(:,:,:), plane(:,:)

  call get_command_argument(1, what)
  call get_command_argument(2, directory)
  n = number(3)
  allocate(u(n, n, n, fields), v(n, n, n), plane(n, n))
  if (what == 'make') then
    call random_number(u)
    call dump('restart')
    stop
  end if
  steps = number(4)
  every = number(5)

  open(unit=10, file=trim(directory)//'/restart', form='unformatted', access='sequential', status='old', action='read')
  do f = 1, fields
    do k = 1, n
      read(10) u(:, :, k, f)
    end do
  end do
  close(10)
  do step = 1, steps
    do f = 1, fields
      v = u(:, :, :, f)
      v(2:n-1, 2:n-1, 2:n-1) = v(2:n-1, 2:n-1, 2:n-1) + 0.1d0 * ( &
        u(1:n-2, 2:n-1, 2:n-1, f) + u(3:n, 2:n-1, 2:n-1, f) + u(2:n-1, 1:n-2, 2:n-1, f) + &
        u(2:n-1, 3:n, 2:n-1, f) + u(2:n-1, 2:n-1, 1:n-2, f) + u(2:n-1, 2:n-1, 3:n, f) - 6 * u(2:n-1, 2:n-1, 2:n-1, f))
      u(:, :, :, f) = v
    end do
    if (mod(step, every) == 0) then
      write(word, '(a,i4.4)') 'dump', step
      call dump(trim(word))
      call verify(trim(word))
    end if
  end do
  print *, sum(u) / size(u)

contains

  integer function number(i)
    integer, intent(in) :: i
    character(len=32) :: text
    call get_command_argument(i, text)
    read(text, *) number
  end function

  subroutine dump(name)
    character(len=*), intent(in) :: name
    integer :: f, k
    open(unit=11, file=trim(directory)//'/'//name, form='unformatted', access='sequential', status='replace', action='write')
    do f = 1, fields
      do k = 1, n
        write(11) u(:, :, k, f)
      end do
    end do
    close(11)
  end subroutine

  subroutine verify(name)
    character(len=*), intent(in) :: name
    integer :: f, k
    open(unit=12, file=trim(directory)//'/'//name, form='unformatted', access='sequential', status='old', action='read')
    do f = 1, fields
      do k = 1, n
        read(12) plane
        if (any(plane /= u(:, :, k, f))) stop 'hydro: a dump has other values'
      end do
    end do
    close(12)
  end subroutine
end program
