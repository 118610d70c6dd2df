// Stands between a store and liblmdb: makes reads fail, and beginnings of writes.
//
// A program that links this target defines liblmdb's reading calls itself, and those that begin a read. They pass every call on to the library, except
// the ones that are to fail. Each plan concerns the files below one folder, so that tests that run side by side do not
// disturb each other. Nothing fails where the loader cannot find the library's own calls.
#ifndef READ_INTERPOSER_H
#define READ_INTERPOSER_H

#include <stdint.h>

/// From now on the `nth` read (1 is the next) of a file whose path begins with `prefix` fails with `code`; with
/// `forever` those after it fail, too. Returns the plan's number, or -1 when there are too many or the path is too long.
int ri_arm(const char *prefix, int64_t nth, int forever, int code);
/// The same for transactions that are to write: the `nth` of them does not begin.
int ri_arm_writes(const char *prefix, int64_t nth, int forever, int code);
/// Ends a plan. Returns how many calls it has failed.
int64_t ri_disarm(int plan);
/// How many calls a plan has failed so far.
int64_t ri_fired(int plan);

#endif
