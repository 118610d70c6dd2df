#include "CVariableArguments.h"

#include <string.h>

void variable_arguments_take(const char *kinds, va_list given, uint64_t *values) {
  // Whoever has the list may read it again.
  va_list list;
  va_copy(list, given);
  for (; *kinds != 0; kinds++, values++) {
    switch (*kinds) {
    case 'i':
      *values = (uint64_t)(int64_t)va_arg(list, int);
      break;
    case 'u':
      *values = (uint64_t)va_arg(list, unsigned int);
      break;
    case 'f': {
      double number = va_arg(list, double);
      memcpy(values, &number, sizeof number);
      break;
    }
    case 'p':
      *values = (uint64_t)(uintptr_t)va_arg(list, void *);
      break;
    default:
      *values = (uint64_t)va_arg(list, long long);
      break;
    }
  }
  va_end(list);
}
