/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * event_network: flows on links, and the rates that plain max-min fair sharing gives them.
 *
 * Flows of one link need no solver. All of them on a link have the same rate, so that a link keeps one clock
 * for them: the bytes it has served to each since it was last idle. A flow that joins at clock V with b bytes
 * ends when the clock shows V + b; a heap of these ends says which is next, and a change of rate touches
 * the link alone, never its flows.
 *
 * Flows of several links (paths) tie links together. The links and paths that are connected are a group, and
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
enum { CHIP_BATCH = 62 };
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
    double rate_Bps;    /* of each of its one-link flows, and of each path that it holds */
    double first_bytes; /* the earliest end among them, by the clock ... */
    double due_s;       /* ... and by time; NaN if none is known */
    uint32_t heap;      /* root of their ends, a pairing heap */
    int32_t singles;    /* how many they are */
    int32_t crossings;  /* of paths; a path that passes twice counts twice */
    uint32_t list;      /* of crossings: the chunk that is filled last */
    bool dirty;
};

/* A flow that has ended, and the chip where. */
struct network_end {
    uint32_t flow;
    int32_t to;
};

/* Crossings of links at once; more of them would take some GB. */
enum { NETWORK_CROSSINGS_MAX = 1 << 27, BLOCK_CLASSES = 31 };

struct network {
    const struct map *map;
    struct queue *queue;
    struct pool flows, waves, chip_batches;
    struct link *link; /* [map.links] */
    uint32_t *rider;   /* [map.links] */
    int32_t *dirty;    /* [map.links], links marked dirty */
    int32_t dirties;
    int code;

    double early_frac; /* flows of a group that are due within this share of the time end now */
    double late_frac;  /* a group's flows end when so much more of the time has passed */

    /* Paths (event_path.h); nothing below is allocated before the first one. */
    struct pool paths, groups, chunks;
    uint32_t *group_of;    /* [map.links] 0 if it is in none */
    struct holder *holder; /* [map.links] */
    uint32_t *met;         /* [met_room] of each path, the last pass that met it */
    int32_t *holder_of;    /* [met_room] of each path, the link that holds it, or -1 */
    uint32_t met_room, pass;
    int32_t *crossing_link;   /* [crossings_room] of each path, one block of 2^k crossings */
    uint32_t *crossing_place; /* chunk * CHUNK_CROSSINGS + place in it */
    uint32_t crossings, crossings_room, block[BLOCK_CLASSES];
    uint32_t *dirty_group; /* groups to fill again */
    int32_t dirty_groups, dirty_group_room;
    struct network_end *end; /* what ended last */
    int32_t ends, end_room;

    /* Scratch, [map.links] each. */
    struct fill *fill;
    struct fill_entry *heap;
    int32_t *full, *touched, *changed;
    int32_t *part, parts, parts_open; /* the links that a filling may change, those with open flows first */
    int32_t *change;                  /* all 0 */
    int32_t touches, changes, changes_total;
    int64_t open;        /* crossings of flows that are not held yet */
    struct taken *taken; /* [taken_room], from 1 on: paths that a full link takes over */
    int32_t takens, taken_room;
    int32_t
        *first_taken; /* [map.links + 1] of the paths that no link holds, of those of link 0, ...; all 0 */
    int32_t *loser, losers; /* [map.links + 1] links that held them, -1 for no link */
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
/* Something has changed on a link. */
void network_touch(struct network *network, int32_t link);

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

/* Puts a flow on one link, or on the links of a route (two at least). */
void network_join(struct network *network, uint32_t flow, int32_t link, double bytes, double now_s);
void network_join_path(struct network *network, uint32_t flow, int32_t chip, const struct hop hop[], int hops,
                       int32_t links, double bytes, double now_s);

/* A link's event has come: is it still true? Then the flows that end now come out one by one, 0 at the end. */
bool network_link_due(struct network *network, int32_t link, double now_s);
uint32_t network_next_single(struct network *network, int32_t link, double now_s);
/* A group's event has come. If it is still true some flows end now: network->end[0 .. returned). */
int32_t network_group_ends(struct network *network, uint32_t group, double now_s);

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
uint32_t network_pop_single(struct network *network, int32_t link);
void network_settle_groups(struct network *network, double now_s); /* event_group.c */

/* Brings a link's clock to now. Where an end is due now the clock shows exactly that end, whatever comes
 * first in this instant: so symmetric links stay bit-equal. */
static inline void link_advance(struct link *link, double now_s)
{
    if (link->due_s == now_s)
        link->served_bytes = link->first_bytes;
    else
        link->served_bytes += link->rate_Bps * (now_s - link->since_s);
    link->since_s = now_s;
}

#endif
