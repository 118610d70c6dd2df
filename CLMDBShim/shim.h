// One header over <lmdb.h>. No logic, no allocation, no policy: only what Swift cannot see by itself.
#ifndef CLMDBSHIM_H
#define CLMDBSHIM_H

#include <errno.h>
#include <lmdb.h>
#include <stdint.h>
#include <stdio.h>

// 1.0 keeps files of another format, in both directions; what is linked is compared at run time.
#if MDB_VERSION_MAJOR != 0 || MDB_VERSION_MINOR != 9
#error "Strata needs liblmdb 0.9: other versions keep files of another format. Install liblmdb 0.9 and its headers, and see that pkg-config and the compiler find them first."
#endif

#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>
#else
#include <pthread.h>
#include <sys/mount.h>
#include <sys/param.h>
#endif

/// Takes room on the medium for the first `size` bytes of a file, and makes it at least so long. Returns 0 or an errno; ENOSYS or EOPNOTSUPP when the
/// system or the file system cannot do it: unlike `posix_fallocate`, which writes into the file then.
static inline int strata_reserve(int descriptor, long size) {
#if defined(__linux__) && defined(SYS_fallocate) && defined(__LP64__)
  return syscall(SYS_fallocate, descriptor, 0, 0L, size) == 0 ? 0 : errno;
#else
  return ENOSYS;
#endif
}

/// Renames `from` to `to` and fails with EEXIST when `to` is there already, in one atomic step.
/// Returns 0 or an errno; ENOSYS or EINVAL when the system or the file system cannot do it.
static inline int strata_rename_exclusive(const char *from, const char *to) {
#if defined(__APPLE__)
  return renamex_np(from, to, RENAME_EXCL) == 0 ? 0 : errno;
#elif defined(SYS_renameat2)
  return syscall(SYS_renameat2, -100 /* AT_FDCWD */, from, -100, to, 1u /* RENAME_NOREPLACE */) == 0 ? 0 : errno;
#else
  return ENOSYS;
#endif
}

/// Exchanges the names `first` and `second` in one atomic step. Returns 0 or an errno; ENOSYS or EINVAL when the system or the file
/// system cannot do it.
static inline int strata_rename_exchange(const char *first, const char *second) {
#if defined(__APPLE__)
  return renamex_np(first, second, RENAME_SWAP) == 0 ? 0 : errno;
#elif defined(SYS_renameat2)
  return syscall(SYS_renameat2, -100 /* AT_FDCWD */, first, -100, second, 2u /* RENAME_EXCHANGE */) == 0 ? 0 : errno;
#else
  return ENOSYS;
#endif
}

/// The kind of file system that holds `descriptor`: the magic number on Linux, 0 (local) or 1 (remote) on
/// Apple's systems. Returns 0 or an errno.
static inline int strata_file_system_type(int descriptor, uint64_t *type) {
  struct statfs status;
  if (fstatfs(descriptor, &status) != 0) return errno;
#if defined(__linux__)
  *type = (uint64_t)(uint32_t)status.f_type;
#else
  *type = (status.f_flags & MNT_LOCAL) ? 0 : 1;
#endif
  return 0;
}

/// Has the system begin to write the changed pages of a file to the disk; waits for room in the disk's queue, and for no page. Returns 0 or
/// an errno; ENOSYS where there is no such call.
static inline int strata_begin_flush(int descriptor) {
#if defined(SYS_sync_file_range) && __SIZEOF_POINTER__ == 8
  return syscall(SYS_sync_file_range, descriptor, 0L, 0L, 2u /* SYNC_FILE_RANGE_WRITE */) == 0 ? 0 : errno;
#else
  return ENOSYS;
#endif
}

/// Names the calling thread for debuggers; at most 15 bytes count.
static inline void strata_name_thread(const char *name) {
#if defined(__linux__)
  prctl(PR_SET_NAME, name, 0, 0, 0);
#else
  pthread_setname_np(name);
#endif
}

/// Tells the processor that the memory at `address` is needed soon; any address will do. For loops over many objects, which
/// lie apart from one another: each would wait for its own.
static inline void strata_prefetch(const void *address) { __builtin_prefetch(address, 1, 3); }

#endif
