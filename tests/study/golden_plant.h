/* SPDX-License-Identifier: MIT
 *
 * golden_plant.h: causes that a job's config cannot express. The program's own pread() and clock_nanosleep() take
 * the place of the C library's, and do as planted. */
#ifndef GOLDEN_PLANT_H
#define GOLDEN_PLANT_H

enum {
    PLANT_SLOW_READS = 1,  /* pread() takes 4 ms */
    PLANT_STRAGGLERS = 2,  /* of the op `sleep`, each 16th pauses for 60 ms */
    PLANT_BURN = 4,        /* the op `sleep` computes for its time instead */
    PLANT_NEIGHBOURS = 8,  /* two processes compute without end */
    PLANT_SLOW_START = 16, /* the first pause of `sleep` takes 0.3 s */
    PLANTS_THAT_COMPUTE = PLANT_BURN | PLANT_NEIGHBOURS
};

/* Starts these, and ends what was planted before. 0: ends it. */
void golden_plant(unsigned plants);

/* Lets this process use two CPUs at most, so that a job has the same cores everywhere. Returns how many it has. */
int golden_two_cpus(void);

#endif
