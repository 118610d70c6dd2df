// Stands between a store and the operating system: records what is written, and makes calls fail.
//
// An executable that links this target defines libc's file calls itself; liblmdb and everybody else resolve to them, and
// they pass every call on to libc. Nothing more happens until files are watched. Link it into programs that torture
// stores only, never into a test bundle.
#ifndef STORE_INTERPOSER_H
#define STORE_INTERPOSER_H

#include <stdint.h>

/// Watched are the files whose absolute path begins so; null or empty watches nothing. At most 1,023 bytes.
void si_watch(const char *prefix);

// What happened to watched files, in order. A call is recorded once it succeeded; recorded calls wait for each other, so
// that the record's order is the order in which they took effect.

enum {
  SI_OPENED = 1,     // payload: path; flags: 1 when the file was created, 2 when it was cut to nothing
  SI_WRITTEN = 2,    // payload: bytes; flags: 1 when they were durable on return (O_DSYNC, O_SYNC)
  SI_SYNCED = 3,     // fsync or fdatasync, of a file or a directory; flags: 1 when it was made to fail
  SI_TRUNCATED = 4,  // offset: the new size
  SI_RENAMED = 5,    // payload: from, zero, to; flags: 1 when both files have exchanged their names
  SI_UNLINKED = 6,   // payload: path
  SI_MARKED = 7,     // flags and offset: what `si_mark` was told
};

typedef struct {
  uint32_t kind;
  uint32_t flags;
  uint64_t inode;
  uint64_t offset;
  uint64_t length;
  /// Valid until the next `si_record`, or `si_leave_together`.
  const uint8_t *payload;
} si_event;

/// Forgets the record and starts a new one (1), or stops recording (0). Returns 0, or -1 without memory.
int si_record(int on);
/// Records into the file `path`, which processes share: one makes it (1) and records nothing, the others (0) begin to record. The record's order is the order in
/// which calls of all of them took effect. A process that `si_arm` kills leaves no call half recorded. Returns 0, or -1.
int si_record_together(const char *path, int makes);
/// Keeps all processes of a shared record from beginning calls that are recorded (1), or no longer (0): one that is killed meanwhile leaves none half recorded.
void si_hold(int on);
/// Gives the shared record back.
void si_leave_together(void);
/// Notes something in the record, such as a save that returned.
void si_mark(uint32_t kind, uint64_t value);
/// How many events there are; -1 when the record overflowed and is worthless.
int64_t si_event_count(void);
si_event si_event_at(int64_t index);

// Faults, in calls that concern watched files.

enum {
  SI_OPEN = 1 << 0,
  SI_WRITE = 1 << 1,
  SI_PWRITE = 1 << 2,
  SI_WRITEV = 1 << 3,
  SI_FDATASYNC = 1 << 4,
  SI_FSYNC = 1 << 5,
  SI_MMAP = 1 << 6,
  SI_RENAME = 1 << 7,
  SI_FTRUNCATE = 1 << 8,
  SI_UNLINK = 1 << 9,
  /// malloc, calloc, realloc, posix_memalign and strdup when liblmdb calls them, whatever is watched.
  SI_MALLOC = 1 << 10,
  /// fstat and lstat.
  SI_STAT = 1 << 11,
  SI_PREAD = 1 << 12,
  SI_FLOCK = 1 << 13,
};

enum {
  /// All calls after the `nth` fail, too.
  SI_FOREVER = 1 << 0,
  /// A write fails after the system took its bytes, as when the medium refuses them: later reads see them.
  SI_LATE = 1 << 1,
  /// Nothing fails: the process stops itself (SIGSTOP) before the call, which passes once it is continued.
  SI_STOP = 1 << 2,
  /// Nothing fails: the process is killed (SIGKILL) before the call.
  SI_KILL = 1 << 3,
};

/// From now on the `nth` call (1 is the next) of one of `functions` fails with `code`. With `code` 0 a write is short by half
/// and all else passes.
void si_arm(uint32_t functions, int64_t nth, uint32_t how, int code);
void si_disarm(void);
/// How many calls have failed or been cut short since `si_arm`.
int64_t si_fired(void);
/// Whether memory requests of liblmdb pass through here; not in sanitized builds.
int si_sees_malloc(void);

/// A hash of `count` bytes: the same for the same bytes.
uint64_t si_hash(const void *bytes, uint64_t count);

#endif
