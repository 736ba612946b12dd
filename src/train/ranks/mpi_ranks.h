/* SPDX-License-Identifier: MIT
 *
 * mpi_ranks.h: the interface between libleat and its MPI plugin. The plugin is the file LEAT_MPI_PLUGIN, built with the
 * site's mpicc; it exports the one function below. It only starts and tests transfers: who waits, how long, and what is
 * said of a late rank is in mpi_ranks.c, so that the plugin needs nothing of leat. */
#ifndef LEAT_MPI_RANKS_H
#define LEAT_MPI_RANKS_H

#include <stddef.h>
#include <stdint.h>

#include "leat/api.h"

#define LEAT_MPI_PLUGIN "libleat-mpi.so"

/* Plugin and library must be from the same release. */
#define LEAT_MPI_ABI                                                                               \
    ((LEAT_VERSION_MAJOR * 10000 + LEAT_VERSION_MINOR * 100 + LEAT_VERSION_PATCH) * 1000 +         \
     (int)sizeof(leat_mpi_table))

/* Functions return 0, or -1 with the reason in why[LEAT_MPI_WHY]. One thread at a time, but in each of the two channels one
 * may begin, test and ask. */
enum { LEAT_MPI_WHY = 512 };
typedef struct leat_mpi_table {
    int (*open)(int32_t *rank, int32_t *n, int32_t *here, char *why);
    /* Begins to send `bytes` from mine + r × stride to each other rank r, and to receive as many at all + r × apart. */
    int (*begin)(int channel, const void *mine, size_t stride, void *all, size_t apart,
                 size_t bytes, char *why);
    /* Goes on with that. *left: transfers that have not ended; missing[r]: 1 where bytes of r have not all come. */
    int (*test)(int channel, int32_t *left, uint8_t *missing, char *why);
    /* While this rank waits: tells the others so, once in an exchange, if it is over its deadline or one that is has said so;
     * clears missing[r] of those that have told. */
    int (*ask)(int channel, int is_over, uint8_t *missing, char *why);
    /* Name of a rank's machine; static storage. */
    const char *(*host)(int32_t rank);
    /* Returns when all ranks have called it. */
    void (*close)(void);
    /* Ends all ranks, this one too. */
    void (*abort)(int code);
} leat_mpi_table;

LEAT_API const leat_mpi_table *leat_mpi_get(int abi);

#endif
