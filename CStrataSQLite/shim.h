// One header over <sqlite3.h>. No logic, no allocation, no policy: only what Swift cannot see by itself.
#ifndef CSTRATASQLITE_H
#define CSTRATASQLITE_H

#include <sqlite3.h>

#if SQLITE_VERSION_NUMBER < 3031000
#error "StrataAppleSQLite needs SQLite 3.31 or newer, which can be told not to trust the schema of a file. Install a newer libsqlite3 and its headers."
#endif

// Functions with a variable number of arguments, and a macro that is a cast.

/// Sets a switch of a connection, such as SQLITE_DBCONFIG_DEFENSIVE. Returns a result code.
static inline int strata_sqlite_set(sqlite3 *database, int option, int value) {
  return sqlite3_db_config(database, option, value, (int *)0);
}

/// Binds a copy of a text of `count` bytes.
static inline int strata_sqlite_bind_text(sqlite3_stmt *statement, int place, const char *bytes, sqlite3_uint64 count) {
  return sqlite3_bind_text64(statement, place, bytes, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// Binds a copy of `count` bytes.
static inline int strata_sqlite_bind_blob(sqlite3_stmt *statement, int place, const void *bytes, sqlite3_uint64 count) {
  return sqlite3_bind_blob64(statement, place, bytes, count, SQLITE_TRANSIENT);
}

#endif
