/* SPDX-License-Identifier: MIT */
#include "base/pool.h"
#include "fixtures/unit.h"

#include <pthread.h>

static size_t stack_bytes;

static void look(void *arg, int i)
{
    pthread_attr_t own;
    (void)arg;
    (void)i;
    if (pthread_getattr_np(pthread_self(), &own) == 0) {
        pthread_attr_getstacksize(&own, &stack_bytes);
        pthread_attr_destroy(&own);
    }
}

static size_t stack_of_a_thread(size_t usual)
{
    pthread_attr_t before, attributes;
    leat_pool *pool;
    assert_int_equal(pthread_getattr_default_np(&before), 0);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, usual);
    assert_int_equal(pthread_setattr_default_np(&attributes), 0);
    stack_bytes = 0;
    assert_int_equal(leat_pool_open(&pool, 1, "test", look, NULL, NULL), LEAT_OK);
    leat_pool_close(&pool);
    assert_int_equal(pthread_setattr_default_np(&before), 0);
    pthread_attr_destroy(&attributes);
    pthread_attr_destroy(&before);
    return stack_bytes;
}

/* As `ulimit -s 128` does it. */
TEST(threads_have_stack_where_the_system_gives_little)
{
    assert_true(stack_of_a_thread(128 << 10) >= 512 << 10);
    assert_true(stack_of_a_thread(4 << 20) >= 4 << 20);
}

/* As much as was asked for, but never so little that the system refuses it and gives its usual size. */
TEST(small_stacks)
{
    static const size_t wanted[] = { 1, 4096, 64 << 10, 256 << 10 };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        leat_pool *pool;
        stack_bytes = 0;
        assert_int_equal(leat_pool_open_small(&pool, 1, "test", look, NULL, wanted[i], NULL),
                         LEAT_OK);
        leat_pool_close(&pool);
        assert_true(stack_bytes >= wanted[i]);
        assert_true(stack_bytes < 4 << 20);
    }
}
