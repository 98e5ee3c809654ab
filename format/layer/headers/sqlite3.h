// SQLite: what a program does with a database. The text of statements is data; record
// keeps it only with --layer-text.
//layer sqlite3 "libsqlite3.so*"
#include <sqlite3.h>

int sqlite3_open(const char *filename, sqlite3 **ppDb); //span open //path filename //define db *ppDb //error result != 0
int sqlite3_open_v2(const char *filename, sqlite3 **ppDb, int flags, const char *zVfs); //span open //path filename //define db *ppDb //error result != 0
int sqlite3_close(sqlite3 *db); //span close //undefine db db //error result != 0
int sqlite3_close_v2(sqlite3 *db); //span close //undefine db db //error result != 0

// SQLITE_ROW is 100 and SQLITE_DONE 101.
int sqlite3_exec(sqlite3 *db, const char *sql, int (*callback)(void *, int, char **, char **), void *arg, char **errmsg); //span query //map db db //text sql //error result != 0
int sqlite3_prepare(sqlite3 *db, const char *zSql, int nByte, sqlite3_stmt **ppStmt, const char **pzTail); //span setup //map db db //text zSql //define stmt *ppStmt //error result != 0
int sqlite3_prepare_v2(sqlite3 *db, const char *zSql, int nByte, sqlite3_stmt **ppStmt, const char **pzTail); //span setup //map db db //text zSql //define stmt *ppStmt //error result != 0
int sqlite3_prepare_v3(sqlite3 *db, const char *zSql, int nByte, unsigned int prepFlags, sqlite3_stmt **ppStmt, const char **pzTail); //span setup //map db db //text zSql //define stmt *ppStmt //error result != 0
int sqlite3_step(sqlite3_stmt *stmt); //span query //map stmt stmt //error result != 100 && result != 101
int sqlite3_reset(sqlite3_stmt *stmt); //span query //map stmt stmt //error result != 0
int sqlite3_finalize(sqlite3_stmt *stmt); //span close //undefine stmt stmt //error result != 0

int sqlite3_blob_open(sqlite3 *db, const char *zDb, const char *zTable, const char *zColumn, sqlite3_int64 iRow, int flags, sqlite3_blob **ppBlob); //span open //map db db //name zTable zColumn //define blob *ppBlob //error result != 0
int sqlite3_blob_read(sqlite3_blob *blob, void *Z, int N, int iOffset); //span read //map blob blob //bytes N //error result != 0
int sqlite3_blob_write(sqlite3_blob *blob, const void *z, int n, int iOffset); //span write //map blob blob //bytes n //error result != 0
int sqlite3_blob_close(sqlite3_blob *blob); //span close //undefine blob blob //error result != 0

sqlite3_backup *sqlite3_backup_init(sqlite3 *pDest, const char *zDestName, sqlite3 *pSource, const char *zSourceName); //span open //map db pDest //map db pSource //define backup result //error result == 0
int sqlite3_backup_step(sqlite3_backup *p, int nPage); //span write //map backup p //error result != 0 && result != 101
int sqlite3_backup_finish(sqlite3_backup *p); //span close //undefine backup p //error result != 0

int sqlite3_wal_checkpoint(sqlite3 *db, const char *zDb); //span sync //map db db //error result != 0
int sqlite3_wal_checkpoint_v2(sqlite3 *db, const char *zDb, int eMode, int *pnLog, int *pnCkpt); //span sync //map db db //error result != 0
int sqlite3_db_cacheflush(sqlite3 *db); //span sync //map db db //error result != 0
