/* SPDX-License-Identifier: MIT */
#include "kept_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "source.h"

#define PAGE      ((uint64_t)4096)
#define HUGE_PAGE ((uint64_t)2 << 20)
#define PIECE     ((uint64_t)1 << LEAT_KEPT_SHIFT)
#define OVERLAP   ((uint64_t)16 << 10) /* of the next piece, in a frame: at most */
#define AT_ONCE   8                    /* pieces that are read together, if all of them stay */

leat_kept_files *leat_kept_files_open(void)
{
    leat_kept_files *const kept = calloc(1, sizeof *kept);
    if (kept)
        pthread_mutex_init(&kept->lock, NULL);
    return kept;
}

void leat_kept_files_close(leat_kept_files **out)
{
    leat_kept_files *const kept = *out;
    *out = NULL;
    if (!kept)
        return;
    if (kept->block)
        munmap(kept->block, kept->block_bytes);
    free((void *)kept->pieces);
    free(kept->queue);
    free(kept->frames);
    free((void *)kept->announced);
    pthread_mutex_destroy(&kept->lock);
    free(kept);
}

static uint64_t round_up(uint64_t bytes, uint64_t to)
{
    return (bytes + to - 1) / to * to;
}

/* Files begin at pages, so that a page is in one piece. */
void leat_kept_files_add(leat_kept_files *kept, leat_open_file *file, uint64_t bytes,
                         uint64_t n_records, leat_kept_file *out)
{
    *out = (leat_kept_file){ file, bytes, kept->bytes, kept->n_pieces, kept->n_flags };
    kept->n_flags += n_records;
    kept->bytes += round_up(bytes, PAGE);
    kept->n_pieces += round_up(bytes, PIECE) >> LEAT_KEPT_SHIFT;
}

static uint64_t mapped_bytes(const leat_kept_files *kept)
{
    return round_up(kept->bytes, kept->bytes < HUGE_PAGE ? PAGE : HUGE_PAGE);
}

uint64_t leat_kept_files_memory(const leat_kept_files *kept)
{
    return mapped_bytes(kept) + round_up(kept->n_flags, PAGE) +
           kept->n_pieces * sizeof *kept->pieces;
}

uint64_t leat_kept_files_tables(const leat_kept_files *kept)
{
    return kept->n_pieces * (sizeof *kept->pieces + sizeof *kept->frames + sizeof *kept->announced);
}

/* --- start ------------------------------------------------------------------------------------------ */

static void free_tables(leat_kept_files *kept)
{
    free((void *)kept->pieces);
    free(kept->queue);
    free(kept->frames);
    free((void *)kept->announced);
    kept->pieces = NULL;
    kept->queue = NULL;
    kept->frames = NULL;
    kept->announced = NULL;
}

static bool make_tables(leat_kept_files *kept)
{
    kept->pieces = calloc(kept->n_pieces, sizeof *kept->pieces);
    kept->queue = calloc(kept->n_most + 1, sizeof *kept->queue);
    kept->frames = kept->n_most ? calloc(kept->n_pieces, sizeof *kept->frames) : NULL;
    kept->announced = kept->n_most ? calloc(kept->n_pieces, 1) : NULL;
    return kept->pieces && kept->queue && ((kept->frames && kept->announced) || !kept->n_most);
}

/* The start of the next piece in a frame has room for records of twice the mean; larger ones there are read alone. */
static uint64_t frame_bytes(const leat_kept_files *kept)
{
    const uint64_t mean = kept->n_flags ? kept->bytes / kept->n_flags : OVERLAP;
    const uint64_t overlap = round_up(2 * mean, PAGE);
    return PIECE + (overlap < OVERLAP ? overlap : OVERLAP);
}

/* A frame has an entry in the queue. At least one: 0 would be all files. */
static uint64_t frames_in(const leat_kept_files *kept, uint64_t bytes)
{
    const uint64_t tables = leat_kept_files_tables(kept), each = kept->frame + sizeof *kept->queue;
    return bytes < tables + each ? 1 : (bytes - tables) / each;
}

/* Maps the memory, with huge pages if available: random rows touch a new page each. Flags follow the files. */
static uint8_t *map_locked(leat_kept_files *kept, uint64_t bytes)
{
    const bool all = bytes >= leat_kept_files_memory(kept);
    kept->frame = frame_bytes(kept);
    kept->n_most = all ? 0 : frames_in(kept, bytes);
    const uint64_t whole = all ? mapped_bytes(kept) : kept->n_most * kept->frame;
    kept->block_bytes = (size_t)(whole + HUGE_PAGE + (all ? kept->n_flags : 0));
    void *const block = make_tables(kept) ? mmap(NULL, kept->block_bytes, PROT_READ | PROT_WRITE,
                                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                          : MAP_FAILED;
    if (block == MAP_FAILED) {
        free_tables(kept);
        return NULL;
    }
    kept->block = block;
    uint8_t *const memory = (uint8_t *)block + (HUGE_PAGE - (uintptr_t)block % HUGE_PAGE);
    madvise(memory, (size_t)whole, MADV_HUGEPAGE); /* without it this is only slower */
    kept->flags = all && kept->n_flags ? (void *)(memory + whole) : NULL;
    return memory;
}

int leat_kept_files_start(leat_kept_files *kept, uint64_t bytes, leat_error *err)
{
    pthread_mutex_lock(&kept->lock);
    if (!kept->block)
        atomic_store_explicit(&kept->memory, map_locked(kept, bytes), memory_order_release);
    const bool started = kept->block != NULL;
    pthread_mutex_unlock(&kept->lock);
    return started ? LEAT_OK
                   : leat_fail(err, LEAT_E_NOMEM, "%llu bytes of address space: %s",
                               (unsigned long long)kept->bytes, strerror(errno));
}

/* --- a piece ------------------------------------------------------------------------------------------ */

static uint32_t state_of(uint32_t word)
{
    return word & LEAT_KEPT_STATE;
}

/* Counts one more user of a piece that is there. */
static bool use(_Atomic(uint32_t) *piece)
{
    uint32_t word = atomic_load_explicit(piece, memory_order_acquire);
    while (state_of(word) == LEAT_KEPT_THERE)
        if (atomic_compare_exchange_weak_explicit(piece, &word, word + LEAT_KEPT_USER,
                                                  memory_order_acquire, memory_order_acquire))
            return true;
    return false;
}

/* Moves a piece from one word to another, if that is what it has. */
static bool change(_Atomic(uint32_t) *piece, uint32_t from, uint32_t to)
{
    return atomic_compare_exchange_strong_explicit(piece, &from, to, memory_order_acq_rel,
                                                   memory_order_relaxed);
}

/* Gives the frame of the oldest piece without users to *frame. False: there is none. */
static bool evict_locked(leat_kept_files *kept, uint32_t *frame)
{
    for (uint64_t i = 0; i < kept->n_there; i++) {
        const uint64_t oldest = kept->queue[kept->first];
        _Atomic(uint32_t) *const word = &kept->pieces[oldest];
        kept->first = (kept->first + 1) % kept->n_most;
        if (change(word, LEAT_KEPT_THERE, LEAT_KEPT_READING) ||
            change(word, LEAT_KEPT_REFUSED, LEAT_KEPT_READING)) {
            *frame = kept->frames[oldest];
            atomic_store_explicit(word, LEAT_KEPT_MISSING, memory_order_release);
            kept->n_there--;
            return true;
        }
        kept->queue[(kept->first + kept->n_there - 1) % kept->n_most] = oldest;
    }
    return false;
}

/* Gives a piece that this thread has claimed a frame. False: all are in use. */
static bool give_frame(leat_kept_files *kept, uint64_t piece)
{
    pthread_mutex_lock(&kept->lock);
    uint32_t frame = (uint32_t)kept->n_there;
    const bool has = kept->n_there < kept->n_most || evict_locked(kept, &frame);
    if (has) {
        kept->frames[piece] = frame;
        kept->queue[(kept->first + kept->n_there++) % kept->n_most] = piece;
    }
    pthread_mutex_unlock(&kept->lock);
    return has;
}

static bool read_piece(const leat_kept_file *file, uint8_t *to, size_t bytes, uint64_t from)
{
    int fd;
    if (leat_open_file_claim(file->file, &fd, NULL) < 0)
        return false;
    const bool whole = leat_source_pread(fd, to, bytes, from, NULL, NULL) == LEAT_OK;
    leat_open_file_release(file->file);
    return whole;
}

/* Reads bytes of n pieces that this thread has claimed. */
static bool fill(leat_kept_files *kept, const leat_kept_file *file, uint64_t p, uint64_t n,
                 uint64_t size, uint8_t *to, size_t *n_read)
{
    const uint64_t from = p << LEAT_KEPT_SHIFT, left = file->bytes - from;
    const size_t bytes = (size_t)(left < size ? left : size);
    const bool whole = read_piece(file, to, bytes, from);
    *n_read += whole ? bytes : 0;
    for (uint64_t i = 0; i < n; i++)
        atomic_store_explicit(&kept->pieces[file->first_piece + p + i],
                              whole ? LEAT_KEPT_THERE : LEAT_KEPT_REFUSED, memory_order_release);
    if (kept->announced)
        atomic_store_explicit(&kept->announced[file->first_piece + p], 0, memory_order_relaxed);
    return whole;
}

static bool claim(leat_kept_files *kept, const leat_kept_file *file, uint64_t p)
{
    return change(&kept->pieces[file->first_piece + p], LEAT_KEPT_MISSING, LEAT_KEPT_READING);
}

/* Where all files are kept: whether a piece is there. Reads it, and what is missing behind it. */
static bool has_piece(leat_kept_files *kept, const leat_kept_file *file, uint64_t p, size_t *n_read)
{
    uint64_t n = 1;
    if (atomic_load_explicit(&kept->pieces[file->first_piece + p], memory_order_acquire) ==
        LEAT_KEPT_THERE)
        return true;
    if (!claim(kept, file, p))
        return false;
    while (n < AT_ONCE && (p + n) << LEAT_KEPT_SHIFT < file->bytes && claim(kept, file, p + n))
        n++;
    return fill(kept, file, p, n, n * PIECE, kept->memory + file->at + (p << LEAT_KEPT_SHIFT),
                n_read);
}

/* Where parts are kept: uses the piece, and returns its frame; NULL: it has none. */
static const uint8_t *use_frame(leat_kept_files *kept, const leat_kept_file *file, uint64_t p,
                                size_t *n_read)
{
    const uint64_t piece = file->first_piece + p;
    if (!use(&kept->pieces[piece])) {
        if (!claim(kept, file, p))
            return NULL;
        if (!give_frame(kept, piece)) {
            atomic_store_explicit(&kept->pieces[piece], LEAT_KEPT_MISSING, memory_order_release);
            return NULL;
        }
        if (!fill(kept, file, p, 1, kept->frame, kept->memory + kept->frames[piece] * kept->frame,
                  n_read) ||
            !use(&kept->pieces[piece]))
            return NULL;
    }
    return kept->memory + kept->frames[piece] * kept->frame;
}

const uint8_t *leat_kept_files_get(leat_kept_files *kept, const leat_kept_file *file,
                                   uint64_t offset, size_t size, size_t *n_read)
{
    const uint64_t from = offset >> LEAT_KEPT_SHIFT, within = offset % PIECE;
    if (!leat_kept_files_started(kept))
        return NULL;
    if (!leat_kept_files_stay(kept)) {
        const uint8_t *const frame =
            within + size <= kept->frame ? use_frame(kept, file, from, n_read) : NULL;
        return frame ? frame + within : NULL;
    }
    for (uint64_t p = from; p <= (offset + size - 1) >> LEAT_KEPT_SHIFT; p++)
        if (!has_piece(kept, file, p, n_read))
            return NULL;
    return leat_kept_files_place(kept, file, offset);
}

void leat_kept_files_announce(leat_kept_files *kept, const leat_kept_file *file, uint64_t offset)
{
    const uint64_t p = offset >> LEAT_KEPT_SHIFT, piece = file->first_piece + p;
    int fd;
    if (!leat_kept_files_started(kept) || leat_kept_files_stay(kept) ||
        atomic_load_explicit(&kept->announced[piece], memory_order_relaxed) ||
        state_of(atomic_load_explicit(&kept->pieces[piece], memory_order_relaxed)) !=
            LEAT_KEPT_MISSING ||
        leat_open_file_claim(file->file, &fd, NULL) < 0)
        return;
    atomic_store_explicit(&kept->announced[piece], 1, memory_order_relaxed);
    posix_fadvise(fd, (off_t)(p << LEAT_KEPT_SHIFT), (off_t)kept->frame, POSIX_FADV_WILLNEED);
    leat_open_file_release(file->file);
}

void leat_kept_files_put(leat_kept_files *kept, const leat_kept_file *file, uint64_t offset)
{
    if (!leat_kept_files_stay(kept))
        atomic_fetch_sub_explicit(&kept->pieces[file->first_piece + (offset >> LEAT_KEPT_SHIFT)],
                                  LEAT_KEPT_USER, memory_order_release);
}
