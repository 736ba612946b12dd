/* SPDX-License-Identifier: MIT
 *
 * cuda_fake_memory.c: memory of the fake GPU and pinned memory, and what copies and sets it. */
#include <stdlib.h>
#include <string.h>

#include "cuda_fake_state.h"

static cudaError_t allocate(void **out, size_t bytes, bool pinned)
{
    if (!pinned && fake.used + bytes > fake.memory)
        return cudaErrorMemoryAllocation;
    allocation *const a = malloc(sizeof *a);
    *a = (allocation){ aligned_alloc(256, (bytes + 255) & ~(size_t)255), bytes, pinned,
                       fake.allocations };
    memset(a->memory, 0xa5, bytes); /* never zeros by luck */
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
            await(memory_is_used, a, "memory freed under work that uses it");
            break; /* the list may be another one by now */
        }
    for (allocation **at = &fake.allocations; *at; at = &(*at)->next) {
        allocation *const a = *at;
        if (a->memory != memory || a->pinned != pinned)
            continue;
        *at = a->next;
        fake.used -= pinned ? 0 : a->bytes;
        fake.live[pinned ? PINNED : DEVICE]--;
        free(a->memory);
        free(a);
        return cudaSuccess;
    }
    violate("memory freed that is not there");
    return cudaErrorInvalidValue;
}

static void check_range(const void *memory, size_t bytes)
{
    const uint8_t *const p = memory;
    for (const allocation *a = fake.allocations; a; a = a->next)
        if (!a->pinned && p >= a->memory && p + bytes <= a->memory + a->bytes)
            return;
    violate("a copy beyond device memory");
}

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    ENTER();
    return leave(allocate(out, bytes, false));
}
cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
    ENTER();
    (void)flags;
    return leave(allocate(out, bytes, true));
}
cudaError_t cudaFree(void *memory)
{
    END(release(memory, false));
}
cudaError_t cudaFreeHost(void *memory)
{
    END(release(memory, true));
}
cudaError_t cudaMemGetInfo(size_t *n_free, size_t *total)
{
    ENTER();
    *n_free = fake.memory - fake.used;
    *total = fake.memory;
    return leave(cudaSuccess);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    ENTER();
    check_range(kind == cudaMemcpyHostToDevice ? to : from, bytes);
    const op o = { .kind = COPY, .to = to, .from = from, .bytes = bytes };
    return leave(enqueue(stream, &o));
}
/* Row by row. */
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t bytes, size_t rows, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    ENTER();
    cudaError_t copied = cudaSuccess;
    if (bytes > to_pitch || bytes > from_pitch || kind != cudaMemcpyHostToDevice)
        return leave(cudaErrorInvalidPitchValue);
    if (rows)
        check_range(to, (rows - 1) * to_pitch + bytes);
    for (size_t i = 0; i < rows && copied == cudaSuccess; i++) {
        const op o = { .kind = COPY,
                       .to = (uint8_t *)to + i * to_pitch,
                       .from = (const uint8_t *)from + i * from_pitch,
                       .bytes = bytes };
        copied = enqueue(stream, &o);
    }
    return leave(copied);
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    ENTER();
    check_range(to, bytes);
    const op o = { .kind = SET, .to = to, .bytes = bytes, .value = value };
    return leave(enqueue(stream, &o));
}
