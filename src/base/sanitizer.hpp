#pragma once
// OB_SANITIZER is 1 in a build with the address or the thread sanitizer, else 0. Such a program
// uses more memory and other system calls.

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OB_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OB_SANITIZER 1
#endif
#endif
#ifndef OB_SANITIZER
#define OB_SANITIZER 0
#endif
