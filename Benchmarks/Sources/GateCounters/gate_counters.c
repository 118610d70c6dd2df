#include "GateCounters.h"

#if defined(__linux__) && defined(__GLIBC__) && defined(__has_include)
#if __has_include(<valgrind/callgrind.h>)
#define GATE_COUNTS 1
#include <valgrind/callgrind.h>
#endif
#endif

#ifdef GATE_COUNTS

int gate_can_count(void) { return 1; }
int gate_is_counting(void) { return RUNNING_ON_VALGRIND != 0; }
void gate_begin(void) { CALLGRIND_ZERO_STATS; }
void gate_end(const char *name) { CALLGRIND_DUMP_STATS_AT(name); }

#else

int gate_can_count(void) { return 0; }
int gate_is_counting(void) { return 0; }
void gate_begin(void) {}
void gate_end(const char *name) { (void)name; }

#endif

#if defined(__linux__) && defined(__GLIBC__)

#include <errno.h>
#include <stddef.h>

// The executable's definitions come before the C library's, also for the libraries it loads. What is allocated is the C library's, so that its `free` fits.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static uint64_t allocations;
static void count(void) { __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED); }

uint64_t gate_allocations(void) { return __atomic_load_n(&allocations, __ATOMIC_RELAXED); }

void *malloc(size_t size) {
  count();
  return __libc_malloc(size);
}
void *calloc(size_t count_of, size_t size) {
  count();
  return __libc_calloc(count_of, size);
}
void *realloc(void *block, size_t size) {
  count();
  return __libc_realloc(block, size);
}
void *memalign(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **block, size_t alignment, size_t size) {
  if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  void *made = memalign(alignment, size);
  if (made == NULL) return ENOMEM;
  *block = made;
  return 0;
}

#else

uint64_t gate_allocations(void) { return 0; }

#endif
