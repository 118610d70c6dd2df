#ifndef C_VARIABLE_ARGUMENTS_H
#define C_VARIABLE_ARGUMENTS_H

#include <stdarg.h>
#include <stdint.h>

/// Takes arguments off a list, one for each letter of `kinds`, and stores their bits in `values`.
///
///     i  int            u  unsigned int      l  long long, signed or not
///     f  double         p  a pointer
///
/// The list must have these arguments in this order: C cannot tell.
void variable_arguments_take(const char *_Nonnull kinds, va_list list, uint64_t *_Nonnull values);

#endif
