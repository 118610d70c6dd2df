// One header over <lmdb.h>. No logic, no allocation, no policy: only what Swift cannot see by itself.
#ifndef CLMDBSHIM_H
#define CLMDBSHIM_H

#include <lmdb.h>

#endif
