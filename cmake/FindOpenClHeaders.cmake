# Finds the headers of OpenCL, CLBlast and VkFFT. Libraries are opened at run time, and nothing is
# linked.
#   OUTBOARD_OPENCL          AUTO (if they are found), ON (an error if not), OFF
#   OUTBOARD_OPENCL_INCLUDE  a folder to look in first
#   OpenClHeaders_FOUND, OpenClHeaders_INCLUDE_DIRS
set(OUTBOARD_OPENCL AUTO CACHE STRING "Build the opencl backend: AUTO (where the headers are), ON, OFF")
set(OUTBOARD_OPENCL_INCLUDE "" CACHE PATH "Folder with the headers of OpenCL, CLBlast and VkFFT")
set(OpenClHeaders_FOUND FALSE)
if(NOT OUTBOARD_OPENCL)
  message(STATUS "opencl backend: off")
  return()
endif()

set(OpenClHeaders_INCLUDE_DIRS "")
set(OpenClHeaders_absent "")
foreach(header CL/cl.h clblast_c.h vkFFT.h)
  string(MAKE_C_IDENTIFIER ${header} name)
  find_path(OpenClHeaders_${name} ${header} HINTS ${OUTBOARD_OPENCL_INCLUDE} PATH_SUFFIXES vkFFT)
  mark_as_advanced(OpenClHeaders_${name})
  if(OpenClHeaders_${name})
    list(APPEND OpenClHeaders_INCLUDE_DIRS ${OpenClHeaders_${name}})
  else()
    list(APPEND OpenClHeaders_absent ${header})
  endif()
endforeach()
list(REMOVE_DUPLICATES OpenClHeaders_INCLUDE_DIRS)
# The compiler searches this folder anyway. Naming it would change the order of the compiler's own
# folders.
list(REMOVE_ITEM OpenClHeaders_INCLUDE_DIRS /usr/include)

set(OpenClHeaders_advice "the Debian packages opencl-headers, libclblast-dev and libvkfft-dev have them")
if(NOT OpenClHeaders_absent)
  set(OpenClHeaders_FOUND TRUE)
  message(STATUS "opencl backend: built")
elseif(OUTBOARD_OPENCL STREQUAL "AUTO")
  message(STATUS "opencl backend: left out (no ${OpenClHeaders_absent}); ${OpenClHeaders_advice}")
else()
  message(FATAL_ERROR "opencl backend: no headers (${OpenClHeaders_absent}); ${OpenClHeaders_advice}")
endif()
