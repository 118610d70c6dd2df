// One header over <libpq-fe.h>. No logic, no allocation, no policy.
#ifndef CLIBPQ_H
#define CLIBPQ_H

#include <libpq-fe.h>

#if !defined(LIBPQ_HAS_PIPELINING)
#error "StrataPostgres needs libpq 14 or newer, which can send statements without waiting for the answer to each. Install a newer libpq and its headers."
#endif

#endif
