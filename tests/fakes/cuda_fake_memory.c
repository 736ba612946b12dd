/* SPDX-License-Identifier: MIT
 *
 * cuda_fake_memory.c: the fake GPU's devices and memory. Behind every allocation lies a page that nobody
 * may touch. Memory of the device can be touched by what runs on the device only, where the processor has
 * protection keys: a host thread that does so gets a signal, as it would with a GPU. */
#include "cuda_fake_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, FILL = 0xa5, ALIGN = 256 };
#define MOST_FILLED ((size_t)4 << 20)

/* --- devices ------------------------------------------------------------------------------------- */

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = fake.driver;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int *count)
{
    ENTER_AS(ANYWHERE);
    *count = fake.n_gpus;
    return cuda_fake_leave(cudaSuccess);
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    ENTER_AS(ANYWHERE);
    if (device < 0 || device >= fake.n_gpus)
        return cuda_fake_leave(cudaErrorInvalidDevice);
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "fake GPU");
    p->major = 9;
    p->totalGlobalMem = fake.memory;
    p->multiProcessorCount = 4;
    return cuda_fake_leave(cudaSuccess);
}
/* Makes the device's context, too. */
cudaError_t cudaSetDevice(int device)
{
    ENTER_AS(ANYWHERE);
    if (device < 0 || device >= fake.n_gpus)
        return cuda_fake_leave(cudaErrorInvalidDevice);
    cuda_fake_device = device;
    fake.contexts |= 1u << device;
    return cuda_fake_leave(cudaSuccess);
}
cudaError_t cudaDeviceGetPCIBusId(char *bus, int size, int device)
{
    ENTER_AS(ANYWHERE);
    snprintf(bus, (size_t)size, "0000:%02x:00.0", (unsigned)device);
    return cuda_fake_leave(cudaSuccess);
}
/* Not beside any capture, whatever the thread says of its calls. */
cudaError_t cudaDeviceSynchronize(void)
{
    ENTER();
    if (fake.others_capture) {
        cuda_fake_violate("waiting for a device of which a stream is captured");
        return cuda_fake_leave(cudaErrorStreamCaptureUnsupported);
    }
    for (struct CUstream_st *s = fake.streams; s && !fake.lost;)
        if (s->first) {
            pthread_cond_wait(&fake.done, &fake.lock);
            s = fake.streams;
        } else {
            s = s->next;
        }
    return cuda_fake_leave(fake.lost ? (cudaError_t)fake.lost_code : cudaSuccess);
}

/* --- memory -------------------------------------------------------------------------------------- */

/* The key of device memory; -1: there are none here. */
static int key_of_device(void)
{
    static int key = -2;
    if (key == -2)
        key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
    return key;
}

void cuda_fake_reach(bool on)
{
    const int key = key_of_device();
    if (key >= 0)
        pkey_set(key, on ? 0 : PKEY_DISABLE_ACCESS);
}

static size_t up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

/* Never zeros by luck; of much memory the ends. And what lies between its end and the next page. */
static void fill(const allocation *a)
{
    const size_t room = up(a->bytes, ALIGN);
    const size_t part = room < 2 * MOST_FILLED ? room : MOST_FILLED;
    cuda_fake_reach(true);
    memset(a->memory, FILL, part);
    memset(a->memory + room - part, FILL, part);
    cuda_fake_reach(false);
}

static void check_end(const allocation *a)
{
    cuda_fake_reach(true);
    for (size_t i = a->bytes; i < up(a->bytes, ALIGN); i++)
        if (a->memory[i] != FILL)
            cuda_fake_violate("memory written behind its end");
    cuda_fake_reach(false);
}

static cudaError_t allocate(void **out, size_t bytes, bool pinned)
{
    const size_t room = up(up(bytes, ALIGN), PAGE);
    const int key = pinned ? -1 : key_of_device();
    if (!pinned && fake.used + bytes > fake.memory)
        return cudaErrorMemoryAllocation;
    uint8_t *const mapped =
        mmap(NULL, room + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED || pkey_mprotect(mapped, room, PROT_READ | PROT_WRITE, key))
        return cudaErrorMemoryAllocation;
    allocation *const a = malloc(sizeof *a);
    *a = (allocation){ .memory = mapped + room - up(bytes, ALIGN),
                       .bytes = bytes,
                       .pinned = pinned,
                       .mapped = mapped,
                       .mapped_bytes = room + PAGE,
                       .next = fake.allocations };
    fill(a);
    fake.allocations = a;
    fake.used += pinned ? 0 : bytes;
    fake.live[pinned ? PINNED : DEVICE]++;
    *out = a->memory;
    return cudaSuccess;
}

static bool touches(const op *o, const allocation *a)
{
    const uint8_t *const to = o->to, *const from = o->from;
    return (to && to >= a->memory && to < a->memory + a->bytes) ||
           (from && from >= a->memory && from < a->memory + a->bytes);
}

/* Kernels may use any memory of the device; freeing waits for them, as CUDA's does, where a call that
 * was to wait has been made to fail. */
static bool memory_is_used(const void *what)
{
    const allocation *const memory = what;
    for (struct CUstream_st *s = fake.streams; s && fake.fail_code && !memory->pinned; s = s->next)
        if (s->first)
            return true;
    for (struct CUstream_st *s = fake.streams; s; s = s->next)
        for (const op *o = s->first; o; o = o->next)
            if (touches(o, what))
                return true;
    return false;
}

static cudaError_t release(void *memory, bool pinned)
{
    for (const allocation *a = fake.allocations; a; a = a->next)
        if (a->memory == memory) {
            cuda_fake_await(memory_is_used, a, "memory freed under work that uses it");
            break; /* the list may be another one by now */
        }
    for (allocation **at = &fake.allocations; *at; at = &(*at)->next) {
        allocation *const a = *at;
        if (a->memory != memory || a->pinned != pinned)
            continue;
        *at = a->next;
        fake.used -= pinned ? 0 : a->bytes;
        fake.live[pinned ? PINNED : DEVICE]--;
        check_end(a);
        if (!fake.in_op) /* of a device that is lost, something may still be running here */
            munmap(a->mapped, a->mapped_bytes);
        free(a);
        return cudaSuccess;
    }
    cuda_fake_violate("memory freed that is not there");
    return cudaErrorInvalidValue;
}

bool cuda_fake_holds(const void *memory, size_t bytes, bool pinned)
{
    const uint8_t *const p = memory;
    for (const allocation *a = fake.allocations; a; a = a->next)
        if (a->pinned == pinned && p >= a->memory && p + bytes <= a->memory + a->bytes)
            return true;
    return false;
}

bool cuda_fake_meets(const void *memory, size_t bytes, bool pinned)
{
    const uint8_t *const p = memory;
    for (const allocation *a = fake.allocations; a; a = a->next)
        if (a->pinned == pinned && p < a->memory + a->bytes && p + bytes > a->memory)
            return true;
    return false;
}

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    ENTER_AS(UNSAFE);
    return cuda_fake_leave(allocate(out, bytes, false));
}
cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
    ENTER_AS(UNSAFE);
    if (flags != cudaHostAllocDefault)
        cuda_fake_violate("pinned memory of another kind: slow to read, or for several contexts");
    return cuda_fake_leave(allocate(out, bytes, true));
}
cudaError_t cudaFree(void *memory)
{
    END_AS(UNSAFE, release(memory, false));
}
cudaError_t cudaFreeHost(void *memory)
{
    END_AS(UNSAFE, release(memory, true));
}
cudaError_t cudaMemGetInfo(size_t *n_free, size_t *total)
{
    ENTER();
    *n_free = fake.memory - fake.used;
    *total = fake.memory;
    return cuda_fake_leave(cudaSuccess);
}
