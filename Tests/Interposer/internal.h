// What the files of the interposer share.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

/// The functions of which a call is to fail, as bits.
extern _Atomic uint32_t si_armed __attribute__((visibility("hidden")));

/// Whether this call of `function` is one that fails.
int si_is_due(uint32_t function) __attribute__((visibility("hidden")));
