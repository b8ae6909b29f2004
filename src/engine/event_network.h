/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * event_network: flows on links, and the rates that plain max-min fair sharing gives them.
 *
 * Flows of one link need no solver. All of them on a link have the same rate, so that a link keeps one clock
 * for them: the bytes it has served to each since it was last idle. A flow that joins at clock V with b bytes
 * ends when the clock shows V + b; a heap of these ends says which is next, and a change of rate touches
 * the link alone, never its flows.
 *
 * Flows of several links (paths) tie links together. The links and paths that hang together are a group, and
 * a group is solved as a whole by progressive filling: the rates of all flows rise together until a link is
 * full, the flows on it stay at that level, and so on. One-link flows on a link of a group take part as a
 * count. Links that changed are marked dirty and settled once an instant, when all that happens in it has
 * happened; a link or a group queues only its earliest end.
 *
 *     link is full at   level = (bandwidth - sum of the rates of flows held back elsewhere) / flows left
 *
 * Instants that differ by less than 2^-48 of their value are one: rounding must not tear apart what is equal.
 *
 * Units: bytes, seconds. Errors: `code` is set and stays: STATUS_NOMEM, or STATUS_LIMIT when there are too
 * many paths at once. Ownership: network_free(); queue and map are borrowed.
 */
#ifndef ICISIM_EVENT_NETWORK_H
#define ICISIM_EVENT_NETWORK_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/event_plan.h"
#include "engine/event_pool.h"
#include "engine/event_queue.h"

#define NETWORK_SAME_FRAC 0x1p-48

/* A send whose bytes share links with others. */
struct flow {
    double start_s;
    double end_bytes; /* one link: the link's clock when it ends */
    int32_t op, chip;
    uint32_t child; /* one link: its place in the link's heap; several links: its path */
    uint32_t sibling;
    uint32_t same; /* one link: the next one of those that end at the same byte as this one, in the heap */
};

/* Chips of one op that started in one instant: first they wait together for their bytes to flow, then, if
 * these are alike, each rides alone on its link (event_run.h). A compute has but one event, its end. */
struct wave {
    double start_s;
    double due_s;          /* its event */
    double since_s, bytes; /* riding: since when, how many each */
    int32_t op;
    bool rides;
    uint32_t first, last; /* its chips, in batches; those whose links others have too */
};
enum { CHIP_BATCH = 14 };
struct chip_batch {
    uint32_t next;
    int32_t chips;
    int32_t chip[CHIP_BATCH];
};

/* Who has a link: nobody, flows that share it, or a wave (its index). */
#define RIDER_NONE  ((uint32_t)0)
#define RIDER_FLOWS UINT32_MAX

struct link {
    double served_bytes; /* the clock of its one-link flows, at since_s */
    double since_s;
    double rate_Bps;   /* of each of its one-link flows */
    double due_s;      /* the earliest end among them, queued; NaN if none is */
    uint32_t heap;     /* root of their ends, a pairing heap */
    int32_t singles;   /* how many they are */
    int32_t crossings; /* of paths; a path that passes twice counts twice */
    uint32_t list;     /* of crossings: the chunk that is filled last */
    bool dirty;
};

/* Links in groups: a list for each group. */
struct membership {
    uint32_t group;        /* 0 if none */
    int32_t before, after; /* links of the same group, -1 at the ends */
    uint32_t solved;       /* the settling that solved it */
};

struct path {
    double left_bytes; /* at since_s */
    double since_s;
    double rate_Bps;
    uint32_t flow;
    uint32_t first; /* crossing of its first link */
    int32_t links;
    uint32_t next_due; /* the next of those that end with it */
};

struct group {
    double due_s;            /* the earliest end of its paths, queued; NaN if none is */
    uint32_t due;            /* the paths that end then */
    int32_t link;            /* its first link */
    int32_t paths, gathered; /* how many there are now, and were when it was gathered */
    bool stale;              /* it may hang together otherwise now: gather again */
};

/* Crossings of a link, in chunks: which path, and which of the path's crossings. */
enum { CHUNK_CROSSINGS = 16, BLOCK_CLASSES = 31 };
struct chunk {
    uint32_t next; /* the chunks after it are full */
    uint32_t path[CHUNK_CROSSINGS];
    uint32_t crossing[CHUNK_CROSSINGS];
};

struct fill {
    double left_Bps;
    int32_t open, held; /* flows not held back yet; held back at this level */
};
struct fill_entry {
    double level_Bps;
    int32_t link;
};

struct network {
    const struct map *map;
    struct queue *queue;
    struct pool flows, waves, chip_batches;
    struct link *link; /* [map.links] */
    uint32_t *rider;   /* [map.links] */
    int32_t *dirty;    /* [map.links], links marked dirty */
    int32_t dirties;
    int code;

    /* Paths; nothing below is allocated before the first one. */
    struct membership *member; /* [map.links] */
    struct pool paths, groups, chunks;
    int64_t paths_ended;
    uint32_t
        *met; /* [met_room] of each path, the last pass over paths that met it: apart, so that it stays in */
    uint32_t met_room, pass;  /* the cache while every list is searched for paths that were not met */
    int32_t *crossing_link;   /* [crossings_room] of each path, one block of 2^k crossings */
    uint32_t *crossing_place; /* chunk * CHUNK_CROSSINGS + place in it */
    uint32_t crossings, crossings_room, block[BLOCK_CLASSES];
    uint32_t *stale; /* groups to gather again */
    uint32_t stales, stale_room;
    uint32_t settling;

    /* Scratch of a solution, [map.links] each. */
    struct fill *fill;
    struct fill_entry *heap;
    int32_t *full, *touched;
    uint32_t *due; /* paths that end first */
    uint32_t dues, due_room;
    double due_s;
    uint64_t work; /* crossings looked at in all: what time is spent on */
};

int network_init(struct network *network, const struct map *map, struct queue *queue);
void network_free(struct network *network);

static inline struct flow *network_flow(const struct network *network, uint32_t flow)
{
    return (struct flow *)network->flows.item + flow;
}
static inline struct wave *network_wave(const struct network *network, uint32_t wave)
{
    return (struct wave *)network->waves.item + wave;
}
static inline struct chip_batch *network_chip_batch(const struct network *network, uint32_t batch)
{
    return (struct chip_batch *)network->chip_batches.item + batch;
}
static inline struct path *network_path(const struct network *network, uint32_t path)
{
    return (struct path *)network->paths.item + path;
}
static inline struct group *network_group(const struct network *network, uint32_t group)
{
    return (struct group *)network->groups.item + group;
}
static inline struct chunk *network_chunk(const struct network *network, uint32_t chunk)
{
    return (struct chunk *)network->chunks.item + chunk;
}

static inline void network_touch(struct network *network, int32_t link)
{
    if (!network->link[link].dirty) {
        network->link[link].dirty = true;
        network->dirty[network->dirties++] = link;
    }
}

/* An op on one chip, on its own; 0 when memory is used up. */
static inline uint32_t network_flow_of(struct network *network, int32_t op, int32_t chip, double start_s)
{
    uint32_t flow = pool_take(&network->flows);
    if (!flow) {
        network->code = STATUS_NOMEM;
        return 0;
    }
    struct flow *f = network_flow(network, flow);
    f->start_s = start_s;
    f->op = op;
    f->chip = chip;
    return flow;
}

/* Puts a flow on one link, or on the links of a route (two at least); returns the chip where it ends. */
int32_t network_join(struct network *network, uint32_t flow, int32_t link, double bytes, double now_s);
int32_t network_join_path(struct network *network, uint32_t flow, int32_t chip, const struct hop hop[],
                          int hops, int32_t links, double bytes, double now_s);

/* A queued end has come: is it still true? Then the flows that end now come out one by one, 0 at the end.
 * A path's flow is taken off its links, and `*to` is the chip where it ends. */
bool network_link_due(struct network *network, int32_t link, double now_s);
uint32_t network_next_single(struct network *network, int32_t link, double now_s);
bool network_group_due(struct network *network, uint32_t group, double now_s);
uint32_t network_next_path(struct network *network, uint32_t group, int32_t *to);

/* Shares what changed in this instant, and queues what ends next. */
void network_settle(struct network *network, double now_s);

/* Between the files of the network. A link loses its rider, who becomes a flow on it; a link that nothing is
 * left on is idle. */
void network_unride(struct network *network, int32_t link, double now_s);
static inline void network_leave(struct network *network, int32_t link)
{
    if (network->link[link].singles + network->link[link].crossings == 0)
        network->rider[link] = RIDER_NONE;
}
void link_advance(const struct network *network, struct link *link, double now_s);
void link_settle(struct network *network, int32_t link, double rate_Bps, double now_s);
void network_solve(struct network *network, uint32_t group, double now_s); /* event_fill.c */
void network_settle_groups(struct network *network, double now_s);         /* event_path.c */

#endif
