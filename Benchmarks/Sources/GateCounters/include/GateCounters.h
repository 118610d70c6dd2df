#ifndef GATE_COUNTERS_H
#define GATE_COUNTERS_H

#include <stdint.h>

/// Whether valgrind's header was there when this was compiled; without it nothing can be counted.
int gate_can_count(void);

/// Whether this process runs under valgrind.
int gate_is_counting(void);

/// Begins to count instructions anew, on all threads.
void gate_begin(void);

/// Ends counting: callgrind writes a file that carries `name`.
void gate_end(const char *name);

/// Allocations of this process so far: calls of malloc, calloc, realloc, and their aligned relatives.
uint64_t gate_allocations(void);

#endif
