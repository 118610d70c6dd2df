#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "StoreInterposer.h"

#include <string.h>

#if defined(__linux__) && defined(__GLIBC__)

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "internal.h"

/// For what Foundation calls when a thread ends: by then the thread sanitizer has forgotten the thread, and a function that
/// tells it of itself stops the process.
#define UNSEEN_BY_SANITIZERS __attribute__((disable_sanitizer_instrumentation))

/// libc's own function, looked up at the first call. Two threads may look it up at once and find the same.
#define REAL(result, name, ...)                                                    \
  static result (*_Atomic real_##name)(__VA_ARGS__);                               \
  UNSEEN_BY_SANITIZERS static result (*find_##name(void))(__VA_ARGS__) {           \
    result (*found)(__VA_ARGS__) = atomic_load_explicit(&real_##name, memory_order_relaxed); \
    if (found == NULL) {                                                           \
      found = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name);                     \
      atomic_store_explicit(&real_##name, found, memory_order_relaxed);            \
    }                                                                              \
    return found;                                                                  \
  }

REAL(int, open, const char *, int, ...)
REAL(int, open64, const char *, int, ...)
REAL(int, close, int)
REAL(ssize_t, write, int, const void *, size_t)
REAL(ssize_t, writev, int, const struct iovec *, int)
REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)
REAL(int, fsync, int)
REAL(int, fdatasync, int)
REAL(int, ftruncate64, int, off64_t)
REAL(int, fstat, int, struct stat *)
REAL(int, lstat, const char *, struct stat *)
REAL(ssize_t, pread64, int, void *, size_t, off64_t)
REAL(int, flock, int, int)
REAL(int, rename, const char *, const char *)
REAL(int, unlink, const char *)
REAL(void *, mmap, void *, size_t, int, int, int, off_t)
REAL(void *, mmap64, void *, size_t, int, int, int, off64_t)
REAL(long, syscall, long, ...)

// MARK: What is watched

enum { MOST_DESCRIPTORS = 1 << 16, MOST_EVENTS = 1 << 20, MOST_SHARED_EVENTS = 1 << 16 };
static const uint64_t ARENA = 1ull << 32;
static const uint64_t SHARED_ARENA = 1ull << 30;

static char watched_prefix[1024];
static _Atomic size_t watched_length;
/// By descriptor the inode of a watched file, else 0.
static _Atomic uint64_t inodes[MOST_DESCRIPTORS];

void si_watch(const char *prefix) {
  atomic_store(&watched_length, 0);
  size_t length = prefix ? strlen(prefix) : 0;
  if (length == 0 || length >= sizeof watched_prefix) return;
  memcpy(watched_prefix, prefix, length + 1);
  atomic_store(&watched_length, length);
}

static int is_watched(const char *path) {
  size_t length = atomic_load_explicit(&watched_length, memory_order_relaxed);
  return length > 0 && path != NULL && strncmp(path, watched_prefix, length) == 0;
}

static uint64_t inode_of(int descriptor) {
  if (descriptor < 0 || descriptor >= MOST_DESCRIPTORS) return 0;
  return atomic_load_explicit(&inodes[descriptor], memory_order_relaxed);
}

// MARK: The record

/// What there is of a record besides events and payloads. Of one that processes share it lies at the beginning of the file.
typedef struct {
  pthread_mutex_t lock;
  int64_t event_count;
  uint64_t arena_used;
  uint64_t most_events;
  uint64_t arena_size;
  int has_overflowed;
} record_head;

static record_head own_head = {PTHREAD_MUTEX_INITIALIZER, 0, 0, MOST_EVENTS, 0, 0};
/// Set once, before anything is watched.
static record_head *head = &own_head;
static _Atomic int is_recording;
static si_event *own_events;
static uint8_t *own_arena;
static si_event *events;
static uint8_t *arena;

static void lock_record(void) {
  // A process that was killed while it held the lock was in no call (`si_is_due`).
  if (pthread_mutex_lock(&head->lock) == EOWNERDEAD) pthread_mutex_consistent(&head->lock);
}

static void *reserve(size_t size) {
  void *memory = find_mmap()(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

int si_record(int on) {
  if (on) head = &own_head;
  lock_record();
  if (on) {
    if (own_events == NULL) own_events = reserve(MOST_EVENTS * sizeof(si_event));
    if (own_arena == NULL) own_arena = reserve(ARENA);
    if (own_arena != NULL) madvise(own_arena, head->arena_used, MADV_DONTNEED);
    events = own_events;
    arena = own_arena;
    head->arena_size = ARENA;
    head->event_count = 0;
    head->arena_used = 0;
    head->has_overflowed = 0;
  }
  int code = on && (events == NULL || arena == NULL) ? -1 : 0;
  atomic_store(&is_recording, on && code == 0);
  pthread_mutex_unlock(&head->lock);
  return code;
}

int si_record_together(const char *path, int makes) {
  uint64_t events_at = 4096;
  uint64_t arena_at = events_at + MOST_SHARED_EVENTS * sizeof(si_event);
  uint64_t size = arena_at + SHARED_ARENA;
  int descriptor = find_open()(path, O_RDWR | O_CLOEXEC | (makes ? O_CREAT | O_TRUNC : 0), 0600);
  if (descriptor < 0) return -1;
  uint8_t *memory = MAP_FAILED;
  if (!makes || find_ftruncate64()(descriptor, (off64_t)size) == 0) {
    memory = find_mmap()(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  }
  find_close()(descriptor);
  if (memory == MAP_FAILED) return -1;
  head = (record_head *)memory;
  events = (si_event *)(memory + events_at);
  arena = memory + arena_at;
  if (makes) {
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&head->lock, &kind);
    pthread_mutexattr_destroy(&kind);
    head->most_events = MOST_SHARED_EVENTS;
    head->arena_size = SHARED_ARENA;
  }
  atomic_store(&is_recording, !makes);
  return 0;
}

void si_hold(int on) {
  if (on) lock_record();
  else pthread_mutex_unlock(&head->lock);
}

void si_leave_together(void) {
  if (head == &own_head) return;
  atomic_store(&is_recording, 0);
  munmap(head, 4096 + MOST_SHARED_EVENTS * sizeof(si_event) + SHARED_ARENA);
  head = &own_head;
}

/// Takes the lock when something watched is to be recorded; whether it did.
static int begin_record(int watched) {
  if (!watched || !atomic_load_explicit(&is_recording, memory_order_relaxed)) return 0;
  lock_record();
  return 1;
}

static void end_record(int began) {
  int code = errno;
  if (began) pthread_mutex_unlock(&head->lock);
  errno = code;
}

/// Adds an event with room for `length` bytes. Under the lock.
static uint8_t *note(uint32_t kind, uint32_t flags, uint64_t inode, uint64_t offset, uint64_t length) {
  if ((uint64_t)head->event_count >= head->most_events || head->arena_used + length > head->arena_size) {
    head->has_overflowed = 1;
    return NULL;
  }
  uint64_t place = head->arena_used;
  head->arena_used += length;
  // Where a payload lies, not its address: other processes have the record elsewhere.
  events[head->event_count++] = (si_event){kind, flags, inode, offset, length, (const uint8_t *)place};
  return arena + place;
}

static void note_text(uint32_t kind, uint32_t flags, uint64_t inode, const char *first, const char *second) {
  size_t one = strlen(first), two = second ? strlen(second) + 1 : 0;
  uint8_t *payload = note(kind, flags, inode, 0, one + two);
  if (payload == NULL) return;
  memcpy(payload, first, one);
  if (second) {
    payload[one] = 0;
    memcpy(payload + one + 1, second, two - 1);
  }
}

static uint32_t is_synchronous(int descriptor) {
  int flags = fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_DSYNC) != 0;
}

void si_mark(uint32_t kind, uint64_t value) {
  if (!begin_record(1)) return;
  note(SI_MARKED, kind, 0, value, 0);
  end_record(1);
}

int64_t si_event_count(void) { return head->has_overflowed ? -1 : head->event_count; }

si_event si_event_at(int64_t index) {
  si_event event = events[index];
  event.payload = arena + (uint64_t)event.payload;
  return event;
}

// MARK: Faults

_Atomic uint32_t si_armed;
static _Atomic int64_t countdown;
static _Atomic int64_t fired;
static _Atomic int fails_forever;
static _Atomic int fails_late;
static _Atomic int stops;
static _Atomic int kills;
static _Atomic int fault_code;

void si_arm(uint32_t functions, int64_t nth, uint32_t how, int code) {
  atomic_store(&si_armed, 0);
  atomic_store(&countdown, nth);
  atomic_store(&fired, 0);
  atomic_store(&fails_forever, (how & SI_FOREVER) != 0);
  atomic_store(&fails_late, (how & SI_LATE) != 0);
  atomic_store(&stops, (how & SI_STOP) != 0);
  atomic_store(&kills, (how & SI_KILL) != 0);
  atomic_store(&fault_code, code);
  atomic_store(&si_armed, functions);
}

void si_disarm(void) { atomic_store(&si_armed, 0); }
int64_t si_fired(void) { return atomic_load(&fired); }

/// Whether this call of `function` is one that fails.
int si_is_due(uint32_t function) {
  if ((atomic_load_explicit(&si_armed, memory_order_relaxed) & function) == 0) return 0;
  int64_t left = atomic_fetch_sub(&countdown, 1);
  int due = left == 1 || (left < 1 && atomic_load(&fails_forever));
  if (!due) return 0;
  atomic_fetch_add(&fired, 1);
  if (atomic_load(&kills)) {
    // No thread of this process is between a call and its note then.
    if (atomic_load(&is_recording)) lock_record();
    raise(SIGKILL);
  }
  if (!atomic_load(&stops)) return 1;
  raise(SIGSTOP);
  return 0;
}

/// Whether a call other than a write fails; errno is set then.
static int fails(uint32_t function, int watched) {
  if (!watched || !si_is_due(function)) return 0;
  int code = atomic_load(&fault_code);
  if (code == 0) return 0;
  errno = code;
  return 1;
}

/// What becomes of a write of `length` bytes: -1 with errno, or how many bytes are to be written. `late` becomes the error
/// that is to be reported after all was written, else 0.
static int64_t allowed(uint32_t function, uint64_t inode, size_t length, int *late) {
  *late = 0;
  if (inode == 0 || !si_is_due(function)) return (int64_t)length;
  int code = atomic_load(&fault_code);
  // The system takes something, or says why not.
  if (code == 0) return (int64_t)((length + 1) / 2);
  if (atomic_load(&fails_late)) {
    *late = code;
    return (int64_t)length;
  }
  errno = code;
  return -1;
}

/// Notes a write and ends the record. A late failure has reached the system's memory only.
static ssize_t end_write(
    int recording, int descriptor, uint64_t inode, off64_t offset, const struct iovec *parts, ssize_t done, int late) {
  if (recording && done > 0) {
    uint32_t durable = late == 0 && is_synchronous(descriptor);
    uint8_t *payload = note(SI_WRITTEN, durable, inode, (uint64_t)offset, (uint64_t)done);
    size_t left = payload ? (size_t)done : 0;
    for (; left > 0; parts++) {
      size_t part = parts->iov_len < left ? parts->iov_len : left;
      memcpy(payload, parts->iov_base, part);
      payload += part;
      left -= part;
    }
  }
  end_record(recording);
  if (late == 0) return done;
  errno = late;
  return -1;
}

// MARK: libc's names

static int opened(const char *path, int flags, mode_t mode, int is64) {
  int watched = is_watched(path);
  if (fails(SI_OPEN, watched)) return -1;
  int recording = begin_record(watched);
  int is_new = 0;
  struct stat status;
  if (recording && (flags & O_CREAT)) is_new = fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) != 0;
  int descriptor = is64 ? find_open64()(path, flags, mode) : find_open()(path, flags, mode);
  if (descriptor >= 0 && descriptor < MOST_DESCRIPTORS) {
    uint64_t inode = 0;
    if (watched && find_fstat()(descriptor, &status) == 0) inode = status.st_ino;
    atomic_store_explicit(&inodes[descriptor], inode, memory_order_relaxed);
    if (recording) {
      note_text(SI_OPENED, (is_new ? 1 : 0) | ((flags & O_TRUNC) ? 2 : 0), inode, path, NULL);
    }
  }
  end_record(recording);
  return descriptor;
}

#define MODE_ARGUMENT                             \
  mode_t mode = 0;                                \
  if (flags & (O_CREAT | __O_TMPFILE)) {          \
    va_list arguments;                            \
    va_start(arguments, flags);                   \
    mode = (mode_t)va_arg(arguments, unsigned);   \
    va_end(arguments);                            \
  }

int open(const char *path, int flags, ...) {
  MODE_ARGUMENT
  return opened(path, flags, mode, 0);
}

int open64(const char *path, int flags, ...) {
  MODE_ARGUMENT
  return opened(path, flags, mode, 1);
}

int close(int descriptor) {
  if (inode_of(descriptor) != 0) atomic_store_explicit(&inodes[descriptor], 0, memory_order_relaxed);
  return find_close()(descriptor);
}

static ssize_t written_at(int descriptor, const void *bytes, size_t length, off64_t offset) {
  uint64_t inode = inode_of(descriptor);
  int late;
  int64_t count = allowed(SI_PWRITE, inode, length, &late);
  if (count < 0) return -1;
  int recording = begin_record(inode != 0);
  ssize_t done = find_pwrite64()(descriptor, bytes, (size_t)count, offset);
  struct iovec part = {(void *)bytes, (size_t)count};
  return end_write(recording, descriptor, inode, offset, &part, done, late);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t offset) {
  return written_at(descriptor, bytes, length, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t offset) {
  return written_at(descriptor, bytes, length, offset);
}

/// Where the next write of `descriptor` goes.
static off_t position(int descriptor) {
  struct stat status;
  int flags = fcntl(descriptor, F_GETFL);
  if (flags >= 0 && (flags & O_APPEND) && find_fstat()(descriptor, &status) == 0) return status.st_size;
  return lseek(descriptor, 0, SEEK_CUR);
}

ssize_t write(int descriptor, const void *bytes, size_t length) {
  uint64_t inode = inode_of(descriptor);
  int late;
  int64_t count = allowed(SI_WRITE, inode, length, &late);
  if (count < 0) return -1;
  int recording = begin_record(inode != 0);
  off_t offset = recording ? position(descriptor) : 0;
  ssize_t done = find_write()(descriptor, bytes, (size_t)count);
  struct iovec part = {(void *)bytes, (size_t)count};
  return end_write(recording, descriptor, inode, offset, &part, done, late);
}

ssize_t writev(int descriptor, const struct iovec *parts, int part_count) {
  uint64_t inode = inode_of(descriptor);
  size_t length = 0;
  if (inode == 0 || part_count <= 0 || part_count > 1024) return find_writev()(descriptor, parts, part_count);
  for (int i = 0; i < part_count; i++) length += parts[i].iov_len;
  int late;
  int64_t count = allowed(SI_WRITEV, inode, length, &late);
  if (count < 0) return -1;
  struct iovec cut[1024];
  int cut_count = 0;
  for (size_t left = (size_t)count; cut_count < part_count && left > 0; cut_count++) {
    cut[cut_count] = parts[cut_count];
    if (cut[cut_count].iov_len > left) cut[cut_count].iov_len = left;
    left -= cut[cut_count].iov_len;
  }
  int recording = begin_record(1);
  off_t offset = recording ? position(descriptor) : 0;
  ssize_t done = find_writev()(descriptor, cut, cut_count);
  return end_write(recording, descriptor, inode, offset, cut, done, late);
}

static int synced(int descriptor, uint32_t function) {
  uint64_t inode = inode_of(descriptor);
  if (fails(function, inode != 0)) {
    int refused = begin_record(inode != 0);
    if (refused) note(SI_SYNCED, 1, inode, 0, 0);
    end_record(refused);
    return -1;
  }
  int recording = begin_record(inode != 0);
  int code = function == SI_FSYNC ? find_fsync()(descriptor) : find_fdatasync()(descriptor);
  if (recording && code == 0) note(SI_SYNCED, 0, inode, 0, 0);
  end_record(recording);
  return code;
}

int fsync(int descriptor) { return synced(descriptor, SI_FSYNC); }
int fdatasync(int descriptor) { return synced(descriptor, SI_FDATASYNC); }

static int truncated(int descriptor, off64_t size) {
  uint64_t inode = inode_of(descriptor);
  if (fails(SI_FTRUNCATE, inode != 0)) return -1;
  int recording = begin_record(inode != 0);
  int code = find_ftruncate64()(descriptor, size);
  if (recording && code == 0) note(SI_TRUNCATED, 0, inode, (uint64_t)size, 0);
  end_record(recording);
  return code;
}

int ftruncate(int descriptor, off_t size) { return truncated(descriptor, size); }
int ftruncate64(int descriptor, off64_t size) { return truncated(descriptor, size); }

int rename(const char *from, const char *to) {
  int watched = is_watched(from) || is_watched(to);
  if (fails(SI_RENAME, watched)) return -1;
  int recording = begin_record(watched);
  int code = find_rename()(from, to);
  if (recording && code == 0) note_text(SI_RENAMED, 0, 0, from, to);
  end_record(recording);
  return code;
}

int unlink(const char *path) {
  int watched = is_watched(path);
  if (fails(SI_UNLINK, watched)) return -1;
  int recording = begin_record(watched);
  int code = find_unlink()(path);
  if (recording && code == 0) note_text(SI_UNLINKED, 0, 0, path, NULL);
  end_record(recording);
  return code;
}

// Not what goes through the 64-bit names, which nothing here uses: glibc has made them the same.

int fstat(int descriptor, struct stat *status) {
  if (fails(SI_STAT, inode_of(descriptor) != 0)) return -1;
  return find_fstat()(descriptor, status);
}

int lstat(const char *path, struct stat *status) {
  if (fails(SI_STAT, is_watched(path))) return -1;
  return find_lstat()(path, status);
}

static ssize_t read_at(int descriptor, void *bytes, size_t length, off64_t offset) {
  if (fails(SI_PREAD, inode_of(descriptor) != 0)) return -1;
  return find_pread64()(descriptor, bytes, length, offset);
}

ssize_t pread(int descriptor, void *bytes, size_t length, off_t offset) {
  return read_at(descriptor, bytes, length, offset);
}

ssize_t pread64(int descriptor, void *bytes, size_t length, off64_t offset) {
  return read_at(descriptor, bytes, length, offset);
}

int flock(int descriptor, int operation) {
  if (fails(SI_FLOCK, inode_of(descriptor) != 0)) return -1;
  return find_flock()(descriptor, operation);
}

/// Renaming without replacing, and exchanging two names (flag 2).
static long renamed(const long *a) {
  int watched = is_watched((const char *)a[1]) || is_watched((const char *)a[3]);
  if (fails(SI_RENAME, watched)) return -1;
  int recording = begin_record(watched);
  long code = find_syscall()(SYS_renameat2, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (recording && code == 0) note_text(SI_RENAMED, (a[4] & 2) ? 1 : 0, 0, (const char *)a[1], (const char *)a[3]);
  end_record(recording);
  return code;
}

UNSEEN_BY_SANITIZERS long syscall(long number, ...) {
  va_list arguments;
  va_start(arguments, number);
  long a[6];
  for (int i = 0; i < 6; i++) a[i] = va_arg(arguments, long);
  va_end(arguments);
  if (number == SYS_renameat2) return renamed(a);
  return find_syscall()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset) {
  if (fails(SI_MMAP, inode_of(descriptor) != 0)) return MAP_FAILED;
  return find_mmap()(address, length, protection, flags, descriptor, offset);
}

void *mmap64(void *address, size_t length, int protection, int flags, int descriptor, off64_t offset) {
  if (fails(SI_MMAP, inode_of(descriptor) != 0)) return MAP_FAILED;
  return find_mmap64()(address, length, protection, flags, descriptor, offset);
}

#else

// Not on this system: nothing is recorded and nothing fails.
void si_watch(const char *prefix) { (void)prefix; }
int si_record(int on) { return on ? -1 : 0; }
int si_record_together(const char *path, int makes) {
  (void)path, (void)makes;
  return -1;
}
void si_hold(int on) { (void)on; }
void si_leave_together(void) {}
void si_mark(uint32_t kind, uint64_t value) { (void)kind, (void)value; }
int64_t si_event_count(void) { return 0; }
si_event si_event_at(int64_t index) { (void)index; return (si_event){0}; }
void si_arm(uint32_t functions, int64_t nth, uint32_t how, int code) {
  (void)functions, (void)nth, (void)how, (void)code;
}
void si_disarm(void) {}
int64_t si_fired(void) { return 0; }

#endif
