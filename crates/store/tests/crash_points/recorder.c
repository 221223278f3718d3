/* Records what a process does to the files below one directory: a library to be preloaded.
 *
 * Each call is made and recorded under one lock, so that the record has the order of the effects.
 * The variables of the environment:
 *
 *   KEYLOOM_TRACE_ROOT   the directory
 *   KEYLOOM_TRACE_FILE   the record, appended to
 *   KEYLOOM_TRACE_MARKS  a file outside of it; what is written there is recorded as a mark
 *   KEYLOOM_TRACE_KILL   such as R3 or *120: the process is killed right after the third record of
 *                        kind R, or after the 120th of any kind
 *
 * A record: kind (1 byte), file descriptor (4), a number (8), length (4), bytes; little-endian.
 *
 *   N  a process begins           O  open; flags; path        W  write; offset; data
 *   S  fsync or fdatasync         R  rename; -; old\0new      U  unlink or rmdir; -; path
 *   M  mkdir; -; path             T  ftruncate; length        A  fallocate; end
 *   C  close                      K  mark; -; text            X  something that is not understood
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FDS 65536
enum { ELSEWHERE = 0, WATCHED = 1, MARKS = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char kinds[FDS];
static char root[PATH_MAX], marks[PATH_MAX];
static int trace = -1;
static char kill_kind;
static long kill_after = -1;


static void record(char kind, int fd, uint64_t number, const void *data, uint32_t len) {
    unsigned char head[17];
    uint32_t fd32 = (uint32_t)fd;
    head[0] = (unsigned char)kind;
    memcpy(head + 1, &fd32, 4);
    memcpy(head + 5, &number, 8);
    memcpy(head + 13, &len, 4);
    struct iovec parts[2] = {{head, sizeof head}, {(void *)data, len}};
    int saved = errno;
    ssize_t want = (ssize_t)(sizeof head + len);
    if (syscall(SYS_writev, trace, parts, 2) != want) abort();
    if (kill_after > 0 && kind != 'K' && kind != 'N' && (kill_kind == '*' || kill_kind == kind)) {
        if (--kill_after == 0) kill(getpid(), SIGKILL);
    }
    errno = saved;
}

__attribute__((constructor)) static void begin(void) {
    const char *where = getenv("KEYLOOM_TRACE_ROOT"), *file = getenv("KEYLOOM_TRACE_FILE");
    const char *mark = getenv("KEYLOOM_TRACE_MARKS"), *end = getenv("KEYLOOM_TRACE_KILL");
    if (!where || !file || !mark) return;
    strncpy(root, where, sizeof root - 1);
    strncpy(marks, mark, sizeof marks - 1);
    if (end && *end) {
        kill_kind = *end;
        kill_after = atol(end + 1);
    }
    trace = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (trace < 0) abort();
    record('N', 0, 0, "", 0);
}

/* The absolute path, or null if it is not below the root. */
static const char *watched(int dir, const char *path, char *buffer) {
    if (trace < 0 || !path) return NULL;
    if (path[0] != '/') {
        char link[64];
        if (dir == AT_FDCWD) {
            if (!getcwd(buffer, PATH_MAX / 2)) return NULL;
        } else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
            ssize_t len = readlink(link, buffer, PATH_MAX / 2);
            if (len < 0) return NULL;
            buffer[len] = 0;
        }
        strncat(buffer, "/", PATH_MAX / 2 - 1);
        strncat(buffer, path, PATH_MAX / 2 - 1);
        path = buffer;
    }
    size_t len = strlen(root);
    if (strncmp(path, root, len) == 0 && (path[len] == '/' || path[len] == 0)) return path;
    return NULL;
}

static int kind_of(int fd) { return trace >= 0 && fd >= 0 && fd < FDS ? kinds[fd] : ELSEWHERE; }

static void opened(int fd, int dir, const char *path, int flags) {
    char buffer[PATH_MAX];
    if (fd < 0 || fd >= FDS || trace < 0) return;
    const char *full = watched(dir, path, buffer);
    kinds[fd] = full ? WATCHED : strcmp(path, marks) == 0 ? MARKS : ELSEWHERE;
    if (full) record('O', fd, (uint64_t)flags, full, (uint32_t)strlen(full));
}

static int open_in(int dir, const char *path, int flags, mode_t mode) {
    pthread_mutex_lock(&lock);
    int fd = (int)syscall(SYS_openat, dir, path, flags, mode);
    opened(fd, dir, path, flags);
    pthread_mutex_unlock(&lock);
    return fd;
}

#define MODE(flags, last)                                  \
    mode_t mode = 0;                                       \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                 \
        va_list list;                                      \
        va_start(list, last);                              \
        mode = va_arg(list, mode_t);                       \
        va_end(list);                                      \
    }

int open(const char *path, int flags, ...) { MODE(flags, flags) return open_in(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags, flags) return open_in(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int dir, const char *path, int flags, ...) { MODE(flags, flags) return open_in(dir, path, flags, mode); }
int openat64(int dir, const char *path, int flags, ...) { MODE(flags, flags) return open_in(dir, path, flags | O_LARGEFILE, mode); }
int creat(const char *path, mode_t mode) { return open_in(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return creat(path, mode); }

int close(int fd) {
    pthread_mutex_lock(&lock);
    int kind = kind_of(fd);
    if (kind != ELSEWHERE) kinds[fd] = ELSEWHERE;
    if (kind == WATCHED) record('C', fd, 0, "", 0);
    int result = (int)syscall(SYS_close, fd);
    pthread_mutex_unlock(&lock);
    return result;
}

static ssize_t write_with(int fd, const struct iovec *parts, int count, off_t at, int is_positioned) {
    int kind = kind_of(fd);
    if (kind == ELSEWHERE) {
        return is_positioned ? syscall(SYS_pwritev, fd, parts, count, at, 0)
                             : syscall(SYS_writev, fd, parts, count);
    }
    pthread_mutex_lock(&lock);
    ssize_t written = is_positioned ? syscall(SYS_pwritev, fd, parts, count, at, 0)
                                    : syscall(SYS_writev, fd, parts, count);
    int saved = errno;
    if (written > 0) {
        char *copy = malloc((size_t)written), *to = copy;
        size_t left = (size_t)written;
        if (!copy) abort();
        for (int n = 0; n < count && left > 0; n++) {
            size_t taken = parts[n].iov_len < left ? parts[n].iov_len : left;
            memcpy(to, parts[n].iov_base, taken);
            to += taken;
            left -= taken;
        }
        if (kind == MARKS) {
            record('K', fd, 0, copy, (uint32_t)written);
        } else {
            off_t offset = is_positioned ? at : (off_t)(syscall(SYS_lseek, fd, 0, SEEK_CUR) - written);
            record('W', fd, (uint64_t)offset, copy, (uint32_t)written);
        }
        free(copy);
    }
    errno = saved;
    pthread_mutex_unlock(&lock);
    return written;
}

ssize_t write(int fd, const void *data, size_t len) {
    struct iovec part = {(void *)data, len};
    return write_with(fd, &part, 1, 0, 0);
}
ssize_t pwrite(int fd, const void *data, size_t len, off_t at) {
    struct iovec part = {(void *)data, len};
    return write_with(fd, &part, 1, at, 1);
}
ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at) { return pwrite(fd, data, len, at); }
ssize_t writev(int fd, const struct iovec *parts, int count) { return write_with(fd, parts, count, 0, 0); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) { return write_with(fd, parts, count, at, 1); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) { return write_with(fd, parts, count, at, 1); }

/* A call that is recorded if it succeeds. */
#define RECORDED(condition, call, note)              \
    pthread_mutex_lock(&lock);                       \
    int result = (int)(call);                        \
    int saved = errno;                               \
    if (result == 0 && (condition)) { note; }        \
    errno = saved;                                   \
    pthread_mutex_unlock(&lock);                     \
    return result;

static int sync_fd(int fd, long number) {
    RECORDED(kind_of(fd) == WATCHED, syscall(number, fd), record('S', fd, 0, "", 0))
}
int fsync(int fd) { return sync_fd(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_fd(fd, SYS_fdatasync); }

int ftruncate(int fd, off_t len) {
    RECORDED(kind_of(fd) == WATCHED, syscall(SYS_ftruncate, fd, len), record('T', fd, (uint64_t)len, "", 0))
}
int ftruncate64(int fd, off64_t len) { return ftruncate(fd, len); }

int fallocate(int fd, int mode, off_t at, off_t len) {
    RECORDED(kind_of(fd) == WATCHED, syscall(SYS_fallocate, fd, mode, at, len),
             record(mode == 0 ? 'A' : 'X', fd, (uint64_t)(at + len), "fallocate", 9))
}
int fallocate64(int fd, int mode, off64_t at, off64_t len) { return fallocate(fd, mode, at, len); }
int posix_fallocate(int fd, off_t at, off_t len) { return fallocate(fd, 0, at, len) == 0 ? 0 : errno; }

static int rename_in(int from, const char *old, int to, const char *new, unsigned flags) {
    char first[PATH_MAX], second[PATH_MAX], both[2 * PATH_MAX];
    const char *a = watched(from, old, first), *b = watched(to, new, second);
    uint32_t len = 0;
    if (a && b) {
        size_t split = strlen(a) + 1;
        memcpy(both, a, split);
        memcpy(both + split, b, strlen(b));
        len = (uint32_t)(split + strlen(b));
    }
    /* RENAME_NOREPLACE changes nothing if it succeeds. */
    char kind = a && b && (flags & ~1u) == 0 ? 'R' : 'X';
    RECORDED(a || b, syscall(SYS_renameat2, from, old, to, new, flags), record(kind, 0, 0, both, len))
}
int rename(const char *old, const char *new) { return rename_in(AT_FDCWD, old, AT_FDCWD, new, 0); }
int renameat(int from, const char *old, int to, const char *new) { return rename_in(from, old, to, new, 0); }
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) { return rename_in(from, old, to, new, flags); }

int unlinkat(int dir, const char *path, int flags) {
    char buffer[PATH_MAX];
    const char *full = watched(dir, path, buffer);
    RECORDED(full, syscall(SYS_unlinkat, dir, path, flags), record('U', 0, 0, full, (uint32_t)strlen(full)))
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int dir, const char *path, mode_t mode) {
    char buffer[PATH_MAX];
    const char *full = watched(dir, path, buffer);
    RECORDED(full, syscall(SYS_mkdirat, dir, path, mode), record('M', 0, 0, full, (uint32_t)strlen(full)))
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

int linkat(int from, const char *old, int to, const char *new, int flags) {
    char buffer[PATH_MAX];
    RECORDED(watched(to, new, buffer), syscall(SYS_linkat, from, old, to, new, flags), record('X', 0, 0, "link", 4))
}
int link(const char *old, const char *new) { return linkat(AT_FDCWD, old, AT_FDCWD, new, 0); }
