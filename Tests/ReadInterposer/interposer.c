#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "ReadInterposer.h"

#include <dlfcn.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { MOST_PLANS = 64, MOST_BYTES = 1024 };

typedef struct {
  int is_armed;
  int fails_forever;
  /// Whether beginnings of writes fail, and no reads.
  int is_of_writes;
  int code;
  int64_t left;
  int64_t fired;
  size_t length;
  char prefix[MOST_BYTES];
} plan;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static plan plans[MOST_PLANS];
/// How many plans are armed: as long as there is none, reads take no lock.
static _Atomic int armed;

static int arm(const char *prefix, int64_t nth, int forever, int code, int is_of_writes) {
  size_t length = strlen(prefix);
  if (length == 0 || length >= MOST_BYTES) return -1;
  pthread_mutex_lock(&lock);
  int number = 0;
  while (number < MOST_PLANS && plans[number].is_armed) number++;
  if (number < MOST_PLANS) {
    plan *new = &plans[number];
    new->is_armed = 1;
    new->fails_forever = forever;
    new->is_of_writes = is_of_writes;
    new->code = code;
    new->left = nth;
    new->fired = 0;
    new->length = length;
    memcpy(new->prefix, prefix, length + 1);
    atomic_fetch_add(&armed, 1);
  }
  pthread_mutex_unlock(&lock);
  return number < MOST_PLANS ? number : -1;
}

int ri_arm(const char *prefix, int64_t nth, int forever, int code) {
  return arm(prefix, nth, forever, code, 0);
}

int ri_arm_writes(const char *prefix, int64_t nth, int forever, int code) {
  return arm(prefix, nth, forever, code, 1);
}

int64_t ri_disarm(int number) {
  pthread_mutex_lock(&lock);
  int64_t fired = plans[number].fired;
  plans[number].is_armed = 0;
  atomic_fetch_sub(&armed, 1);
  pthread_mutex_unlock(&lock);
  return fired;
}

int64_t ri_fired(int number) {
  pthread_mutex_lock(&lock);
  int64_t fired = plans[number].fired;
  pthread_mutex_unlock(&lock);
  return fired;
}

/// What a read of this environment, or the beginning of a write, is to fail with; 0 when it is to pass.
static int environment_failure(MDB_env *environment, int is_write) {
  const char *path = NULL;
  if (environment == NULL || mdb_env_get_path(environment, &path) != 0 || path == NULL) return 0;
  int code = 0;
  pthread_mutex_lock(&lock);
  for (int number = 0; number < MOST_PLANS && code == 0; number++) {
    plan *known = &plans[number];
    if (!known->is_armed || known->is_of_writes != is_write) continue;
    if (strncmp(path, known->prefix, known->length) != 0) continue;
    int64_t left = known->left--;
    if (left == 1 || (left < 1 && known->fails_forever)) {
      known->fired++;
      code = known->code;
    }
  }
  pthread_mutex_unlock(&lock);
  return code;
}

static int failure(MDB_txn *transaction) {
  return transaction == NULL ? 0 : environment_failure(mdb_txn_env(transaction), 0);
}

/// The library's own function, looked up at the first call. Two threads may look it up at once and find the same.
#define REAL(name, ...)                                                                  \
  static int (*_Atomic real_##name)(__VA_ARGS__);                                        \
  static int (*find_##name(void))(__VA_ARGS__) {                                         \
    int (*found)(__VA_ARGS__) = atomic_load_explicit(&real_##name, memory_order_relaxed); \
    if (found == NULL) {                                                                 \
      found = (int (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name);                             \
      atomic_store_explicit(&real_##name, found, memory_order_relaxed);                  \
    }                                                                                    \
    return found;                                                                        \
  }

REAL(mdb_get, MDB_txn *, MDB_dbi, MDB_val *, MDB_val *)
REAL(mdb_cursor_get, MDB_cursor *, MDB_val *, MDB_val *, MDB_cursor_op)
REAL(mdb_txn_begin, MDB_env *, MDB_txn *, unsigned int, MDB_txn **)
REAL(mdb_txn_renew, MDB_txn *)
REAL(mdb_cursor_open, MDB_txn *, MDB_dbi, MDB_cursor **)
REAL(mdb_stat, MDB_txn *, MDB_dbi, MDB_stat *)
REAL(mdb_dbi_open, MDB_txn *, const char *, unsigned int, MDB_dbi *)

int mdb_get(MDB_txn *transaction, MDB_dbi database, MDB_val *key, MDB_val *value) {
  if (atomic_load_explicit(&armed, memory_order_relaxed) > 0) {
    int code = failure(transaction);
    if (code != 0) return code;
  }
  return find_mdb_get()(transaction, database, key, value);
}

int mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op operation) {
  if (atomic_load_explicit(&armed, memory_order_relaxed) > 0) {
    int code = failure(mdb_cursor_txn(cursor));
    if (code != 0) return code;
  }
  return find_mdb_cursor_get()(cursor, key, value, operation);
}

int mdb_txn_begin(MDB_env *environment, MDB_txn *parent, unsigned int flags, MDB_txn **transaction) {
  if (atomic_load_explicit(&armed, memory_order_relaxed) > 0) {
    int code = environment_failure(environment, !(flags & MDB_RDONLY));
    if (code != 0) return code;
  }
  return find_mdb_txn_begin()(environment, parent, flags, transaction);
}

int mdb_txn_renew(MDB_txn *transaction) {
  if (atomic_load_explicit(&armed, memory_order_relaxed) > 0) {
    int code = failure(transaction);
    if (code != 0) return code;
  }
  return find_mdb_txn_renew()(transaction);
}

int mdb_cursor_open(MDB_txn *transaction, MDB_dbi database, MDB_cursor **cursor) {
  if (atomic_load_explicit(&armed, memory_order_relaxed) > 0) {
    int code = failure(transaction);
    if (code != 0) return code;
  }
  return find_mdb_cursor_open()(transaction, database, cursor);
}

int mdb_stat(MDB_txn *transaction, MDB_dbi database, MDB_stat *statistics) {
  if (atomic_load_explicit(&armed, memory_order_relaxed) > 0) {
    int code = failure(transaction);
    if (code != 0) return code;
  }
  return find_mdb_stat()(transaction, database, statistics);
}

int mdb_dbi_open(MDB_txn *transaction, const char *name, unsigned int flags, MDB_dbi *database) {
  if (atomic_load_explicit(&armed, memory_order_relaxed) > 0) {
    int code = failure(transaction);
    if (code != 0) return code;
  }
  return find_mdb_dbi_open()(transaction, name, flags, database);
}
