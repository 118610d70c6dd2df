// Makes requests for memory fail that come from liblmdb.
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "StoreInterposer.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#if defined(__linux__)
#include <link.h>
#endif

#include "internal.h"

#if defined(SANITIZED) || !defined(__linux__) || !defined(__GLIBC__)

int si_sees_malloc(void) { return 0; }

#else

// glibc's own names: looking up the ordinary ones would itself ask for memory.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

int si_sees_malloc(void) { return 1; }

/// Where liblmdb's code lies.
static uintptr_t library_start, library_end;

static int note_library(struct dl_phdr_info *library, size_t size, void *unused) {
  (void)size, (void)unused;
  if (library->dlpi_name == NULL || strstr(library->dlpi_name, "liblmdb") == NULL) return 0;
  for (int i = 0; i < library->dlpi_phnum; i++) {
    if (library->dlpi_phdr[i].p_type != PT_LOAD || !(library->dlpi_phdr[i].p_flags & PF_X)) continue;
    library_start = library->dlpi_addr + library->dlpi_phdr[i].p_vaddr;
    library_end = library_start + library->dlpi_phdr[i].p_memsz;
  }
  return 1;
}

__attribute__((constructor)) static void find_library(void) { dl_iterate_phdr(note_library, NULL); }

/// Whether a request that came from `caller` is one that fails.
static int is_starved(void *caller) {
  if (__builtin_expect((atomic_load_explicit(&si_armed, memory_order_relaxed) & SI_MALLOC) == 0, 1)) return 0;
  if ((uintptr_t)caller < library_start || (uintptr_t)caller >= library_end || !si_is_due(SI_MALLOC)) return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size) {
  return is_starved(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  return is_starved(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
  return is_starved(__builtin_return_address(0)) ? NULL : __libc_realloc(block, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
  if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return EINVAL;
  if (is_starved(__builtin_return_address(0))) return ENOMEM;
  void *found = __libc_memalign(alignment, size);
  if (found == NULL) return ENOMEM;
  *block = found;
  return 0;
}

char *strdup(const char *text) {
  if (is_starved(__builtin_return_address(0))) return NULL;
  size_t size = strlen(text) + 1;
  char *copy = __libc_malloc(size);
  return copy ? memcpy(copy, text, size) : NULL;
}

#endif
