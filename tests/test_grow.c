/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrays that grow, what finds their entries again, and the least of them. */
#include <stdlib.h>

#include "base/grow.h"
#include "base/heap.h"
#include "base/lookup.h"
#include "suite.h"

/* Everything stays where it was, room is never short, and doubles: 5 times from 512 bytes to past 1500 numbers. */
static void appends(void)
{
    double *value = NULL;
    int count = 0, room = 0, moves = 0;
    for (; count < 1500; count++) {
        int before = room;
        CU_ASSERT_TRUE_FATAL(GROW(value, count, room));
        CU_ASSERT(room > count);
        moves += room != before;
        value[count] = 1.5 * count;
    }
    CU_ASSERT_EQUAL(moves, 6);
    CU_ASSERT_EQUAL(room, 64 << 5);
    for (int i = 0; i < count; i++)
        CU_ASSERT_EQUAL(value[i], 1.5 * i);
    free(value);
}

/* Many at once, with a count and a room of eight bytes, unsigned. */
static void appends_many(void)
{
    char *text = NULL;
    size_t count = 0, room = 0;
    CU_ASSERT_TRUE_FATAL(GROW_BY(text, count, room, 1000));
    CU_ASSERT_EQUAL(room, 1000);
    count = 1000;
    CU_ASSERT_TRUE(GROW_BY(text, count, room, 0));
    CU_ASSERT_EQUAL(room, 1000);
    CU_ASSERT_TRUE_FATAL(GROW_BY(text, count, room, 1));
    CU_ASSERT_EQUAL(room, 2000);
    free(text);
}

/* What does not fit into the type of the room, or into memory, leaves all as it was. */
static void refuses_what_cannot_be(void)
{
    char *text = NULL;
    double *value = NULL;
    int32_t count = INT32_MAX - 3, room = INT32_MAX - 3;
    int64_t far = INT64_MAX / 8 - 3, wide = INT64_MAX / 8 - 3;
    CU_ASSERT_FALSE(GROW_BY(text, count, room, 4));
    CU_ASSERT_EQUAL(room, INT32_MAX - 3);
    CU_ASSERT_FALSE(GROW_BY(value, far, wide, 100));
#ifndef ICISIM_SANITIZE /* whose realloc stops the test instead of failing */
    CU_ASSERT_FALSE(GROW(value, far, wide));
#endif
    CU_ASSERT_EQUAL(wide, INT64_MAX / 8 - 3);
    CU_ASSERT_PTR_NULL(text);
    CU_ASSERT_PTR_NULL(value);
}

/* Three entries of each of many hashes: i, i + 5000 and i + 10000 have the same. */
static void finds_all_of_a_hash(void)
{
    enum { HASHES = 5000, EACH = 3 };
    struct lookup table = {0};
    const struct lookup_entry *at = NULL;
    CU_ASSERT_EQUAL(lookup_next(&table, 0, &at), -1);
    for (int32_t i = 0; i < EACH * HASHES; i++)
        CU_ASSERT_EQUAL(lookup_add(&table, (uint32_t)(i % HASHES) * 77u, i), 0);
    for (int32_t h = 0; h < HASHES; h++) {
        bool seen[EACH] = {false};
        at = NULL;
        for (int32_t i; (i = lookup_next(&table, (uint32_t)h * 77u, &at)) >= 0;) {
            CU_ASSERT_EQUAL_FATAL(i % HASHES, h);
            CU_ASSERT_FALSE(seen[i / HASHES]);
            seen[i / HASHES] = true;
        }
        for (int k = 0; k < EACH; k++)
            CU_ASSERT_TRUE(seen[k]);
    }
    at = NULL;
    CU_ASSERT_EQUAL(lookup_next(&table, 76, &at), -1);
    lookup_free(&table);
    CU_ASSERT_PTR_NULL(table.first);
    lookup_free(&table);
}

/* Texts that differ in one byte, or in length, or in what stood before, differ in their hash. */
static void hashes_differ(void)
{
    const char text[] = "all-gather.17";
    uint32_t whole = lookup_hash(0, text, 13);
    CU_ASSERT_EQUAL(whole, lookup_hash(0, text, 13));
    for (size_t n = 0; n < 13; n++) {
        char other[] = "all-gather.17";
        other[n] ^= 1;
        CU_ASSERT_NOT_EQUAL(lookup_hash(0, text, n), whole);
        CU_ASSERT_NOT_EQUAL(lookup_hash(0, other, 13), whole);
    }
    CU_ASSERT_NOT_EQUAL(lookup_hash(1, text, 13), whole);
    CU_ASSERT_NOT_EQUAL(lookup_hash(0, "\0", 1), lookup_hash(0, "\0\0", 2));
}

/* 1,009 entries with 7 keys, each number once: they come in order, also if some are put in between. */
static void pops_the_least(void)
{
    enum { ENTRIES = 1009, KEYS = 7 };
    struct heap heap = {0};
    double key = -1;
    int64_t number = -1;
    int popped = 0;
    for (int32_t i = 0; i < ENTRIES; i++) { /* i to 389 i modulo a prime is a permutation */
        int64_t at = (int64_t)i * 389 % ENTRIES;
        CU_ASSERT_TRUE_FATAL(heap_push(&heap, 2.385 * (double)(at % KEYS), at, (int32_t)at));
    }
    for (; heap.count > 0; popped++) {
        double next = heap.entry[0].key;
        int32_t item = heap_pop(&heap);
        CU_ASSERT_EQUAL(next, 2.385 * (item % ENTRIES % KEYS));
        CU_ASSERT_TRUE(next > key || (next == key && item > number));
        key = next;
        number = item;
        if (item < ENTRIES && item % 3 == 0) /* behind it, of the same key */
            CU_ASSERT_TRUE_FATAL(heap_push(&heap, key, item + ENTRIES, item + ENTRIES));
    }
    CU_ASSERT_EQUAL(popped, ENTRIES + (ENTRIES + 2) / 3);
    free(heap.entry);
}

SUITE("grow", TEST(appends), TEST(appends_many), TEST(refuses_what_cannot_be), TEST(finds_all_of_a_hash),
      TEST(hashes_differ), TEST(pops_the_least))
