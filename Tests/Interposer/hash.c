#include "StoreInterposer.h"

#include <string.h>

uint64_t si_hash(const void *bytes, uint64_t count) {
  const unsigned char *at = bytes;
  uint64_t hash = 0xCBF29CE484222325u ^ count;
  while (count >= 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
    at += 8;
    count -= 8;
  }
  while (count-- > 0) hash = (hash ^ *at++) * 0x100000001B3u;
  return hash ^ (hash >> 32);
}
