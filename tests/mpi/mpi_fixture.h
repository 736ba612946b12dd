/* SPDX-License-Identifier: MIT
 *
 * mpi_fixture.h: what tests with mpirun need. */
#ifndef MPI_FIXTURE_H
#define MPI_FIXTURE_H

#include "fixtures/command_fixture.h"

/* For Open MPI 4 and 5: more ranks than cores, root, and no network. */
static inline void mpi_fixture_init(void)
{
    static const char *const set[][2] = {
        { "OMPI_ALLOW_RUN_AS_ROOT", "1" },
        { "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1" },
        { "OMPI_MCA_rmaps_base_oversubscribe", "1" },
        { "OMPI_MCA_hwloc_base_binding_policy", "none" },
        { "OMPI_MCA_btl", "self,vader" },
        { "PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe" },
        { "PRTE_MCA_hwloc_default_binding_policy", "none" },
        { "LEAT_MPI_PLUGIN", BUILD_DIR "/libleat-mpi.so" },
        { "OMP_NUM_THREADS", "1" },
    };
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        setenv(set[i][0], set[i][1], 1);
}

/* Says what is missing. */
static inline bool mpi_fixture_missing(void)
{
    const bool plugin = access(BUILD_DIR "/libleat-mpi.so", R_OK) == 0;
    const bool missing =
        !plugin || system("mpirun --version 2>&1 | grep -q 'Open MPI\\|OpenRTE'") != 0;
    if (missing)
        printf("skipped: %s\n",
               plugin ? "there is no mpirun of Open MPI" : "built without MPI: no libleat-mpi.so");
    return missing;
}

#endif
