/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to engine/. */
/*
 * event_network: flows on links, and the rates that plain max-min fair sharing gives them.
 *
 * Progressive filling (event_fill.c) raises the rates of all flows together. A link that gets full holds the flows on it
 * that are not held yet: they stay at that level. So every flow is held by one link of its route, all that a link holds
 * has the same rate, and the link keeps one clock for it: the bytes it has served to each since it was last idle. A flow
 * that is held from clock V on with b bytes left ends when the clock shows V + b, and a change of rate touches the link
 * alone, never its flows.
 *
 *     link is full at   level = (bandwidth - sum of the rates of flows held elsewhere) / flows left
 *
 * Flows of one link need no filling: that link holds them, and they share what is left of it. Flows of several links
 * (paths) tie links together. Links that any route of the program connects are a group, and while paths flow in it, a
 * group is filled as a whole. From one filling to the next the levels change, but most links hold the paths that they
 * held before. So a link keeps, added up over its paths, how often they cross each other link (its shares). To fill again
 * it subtracts shares * level from those links and looks at no path, as long as as many flows cross it that are not
 * held yet as it held before. (These are the same ones then: all links that were full earlier have held theirs again, so
 * its own are still to be held, and there are no others.)
 *
 * Two things keep most links out of a filling:
 *   - A path that ends was held at some level. Links that get full below that level do not see the difference: the
 *     path did not cross them, or they would have held it. So they are not looked for again, and filling goes on at that
 *     level.
 *   - Most links never get full. Only those are watched that were full last time, or nearly; at the end it is
 *     checked that no other one carries more than its bandwidth, or else that one is watched too, and filling
 *     starts again.
 *
 * HBM connects all links of a slice, and little of what happens on one chip matters to others. Where it takes part (`local`) there are no
 * groups: the links that changed are filled, while all flows that other links hold keep their rates. Then it is looked at what
 * would not be max-min fair, and filling goes on with the links that this concerns, until there are no more:
 *   - a filled link carries a flow that another one holds at a rate above its own level: that other one
 *   - no filled link has held a flow that crosses one: all links of this flow
 *   - what filled links hold crosses one that holds other flows, or that carries too much now: that one
 *
 * Where several links are full at one level, a path that crosses more of them is held by the first one of its
 * route: so what is alike stays alike to the last bit. Links and groups that changed are marked dirty and settled once
 * an instant, when all that happens in it has happened; each queues only its earliest end. Instants that differ by less
 * than 2^-48 of their value are one: rounding must not tear apart what is equal.
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

/* A send of one chip whose bytes share links with others. */
struct flow {
    double start_s;
    double left_bytes;    /* while no link holds it */
    int32_t op, chip, to; /* where it arrives */
    int32_t links;
    int32_t place; /* in the list of the link that holds it */
    int32_t
        *link; /* of a path: [links] what it crosses, and after that [links] its place in each one's list */
};

/* Chips of one op that started in one instant: first they wait together for their bytes to flow, then, if
 * these are alike, each rides alone on its link (event_run.h). A compute has but one event, its end. */
struct wave {
    double start_s;
    double due_s;          /* its event */
    double since_s, bytes; /* riding: since when, how many each */
    int32_t op;
    bool rides;
    int32_t *chip, chips, room;
};

/* Who has a link: nobody, flows that share it, or a wave (its index). */
#define RIDER_NONE  ((uint32_t)0)
#define RIDER_FLOWS UINT32_MAX

/* What a link holds: a flow that ends when the link's clock shows end_bytes. */
struct held {
    double end_bytes;
    uint32_t flow;
};

/* A path crosses a link, its `at`th. */
struct crossing {
    uint32_t flow;
    int32_t at;
};

/* How often the paths that a link holds cross another link, or this one. */
struct share {
    int32_t link, crossings;
};

struct link {
    double served_bytes; /* its clock at since_s */
    double since_s;
    double rate_Bps;    /* of each flow that it holds */
    double first_bytes; /* the earliest end among them, by the clock ... */
    double due_s;       /* ... and by time; NaN if none is known */
    double queued_s;    /* `local`: its latest event */
    double least_bytes; /* the least end_bytes of all held; NaN if it must be looked for */
    struct held *held;
    int32_t helds, held_room;
    int32_t singles; /* of those held, the flows of this link alone */
    bool dirty;
};

/* The paths of a link: those that cross it, and what it knows of those that it holds. */
struct bundle {
    struct crossing *crossing; /* of a path that passes twice there are two */
    struct share *share;
    int32_t crossings, crossing_room, shares, share_room;
    int32_t counted;    /* of the flows held, the paths among the first so many are in the shares */
    int32_t own, total; /* its share of itself; the sum of its shares */
    int32_t level;      /* where its level begins in the order of its group */
    uint32_t full;      /* the last pass in which it was full */
};

/* How far a link is filled. */
struct fill {
    double left_Bps;
    int32_t open;    /* flows that are not held yet, a path as often as it crosses */
    int32_t held;    /* of these, at this level */
    int32_t watched; /* to the end of this filling of its group */
    bool busy;       /* in the list of its group */
};

/* In the heap of a filling: a link, and a level below which it is not full. */
struct fill_entry {
    double level_Bps;
    int32_t link;
};

/* Links that routes of several links connect. */
struct group {
    bool dirty;
    double due_s;           /* its event; NaN if none is queued */
    int32_t from;           /* the place in the order from which it must be filled again */
    int32_t fills;          /* how often it was */
    int32_t paths;          /* that flow in it: 0, and its links share on their own */
    int32_t *link, links;   /* all of them */
    int32_t *busy, busies;  /* those that have flows, and some that no longer do */
    int32_t *order, orders; /* the full ones, level by level */
};

/* A path that is taken over, and the next one of those that the same link held. */
struct taken {
    uint32_t flow;
    int32_t next;
};

/* A flow that has ended, and the chip where. */
struct network_end {
    double start_s;
    int32_t op, chip, to;
};

/* Crossings of links at once; more of them would take some GB. */
enum { NETWORK_CROSSINGS_MAX = 1 << 27 };

struct network {
    const struct map *map;
    struct queue *queue;
    struct pool flows, waves;
    struct link *link; /* [map.links] */
    uint32_t *rider;   /* [map.links] */
    int32_t *dirty;    /* [map.links], links marked dirty */
    int32_t dirties;
    struct network_end *end; /* what ended last */
    int32_t ends, end_room;
    int code;

    bool local; /* HBM takes part: what changed is filled, and what it reaches */
    double
        early_frac; /* flows of a group (none are if `local`) that are due within this share of the time end now */
    double late_frac; /* a group's flows end when so much more of the time has passed */

    /* Nothing below is allocated before the first path. */
    struct bundle *bundle; /* [map.links] */
    struct group *group;   /* [map.links] as the map numbers them */
    int32_t *group_link;   /* [3 * map.links] of all groups the links, then the orders, then the busy ones */
    struct group reached;  /* `local`: what is filled now, in that same memory */
    int32_t *holder;       /* [holder_room] of each flow, the link that holds it, or -1 */
    uint32_t holder_room, pass;
    int64_t crossings;
    int32_t *dirty_group, dirty_groups; /* [map.links] to be filled again */

    /* Scratch of a filling, [map.links] each. */
    struct fill *fill;
    struct fill_entry *heap;
    int32_t *full, *touched, *changed;
    int32_t *change; /* all 0 */
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

/* An op on one chip, on its own; 0 when memory is used up. Then it goes on one link, or on several, some of them twice. */
uint32_t network_flow_of(struct network *network, int32_t op, int32_t chip, int32_t to, double start_s,
                         double bytes);
void network_join(struct network *network, uint32_t flow, int32_t link, double now_s);
void network_join_path(struct network *network, uint32_t flow, const int32_t link[], int32_t links,
                       double now_s);

/* The event of a link, or of a group, has come. If it is still true some flows end now: network->end[0 .. ends). */
void network_link_due(struct network *network, int32_t link, double now_s);
void network_group_due(struct network *network, int32_t group, double now_s);

/* Shares what changed in this instant, and queues what ends next. */
void network_settle(struct network *network, double now_s);

/* Between the files of the network: event_groups.c. The group of a link if paths flow in it, or else NULL. A group must be
 * filled again, from a place in its order on. Something has changed on a link. */
static inline struct group *group_awake(const struct network *network, int32_t link)
{
    struct group *group =
        network->group && !network->local ? &network->group[network->map->group[link]] : NULL;
    return group && group->paths > 0 ? group : NULL;
}
void network_touch(struct network *network, int32_t link);
void group_disturb(struct network *network, struct group *group, int32_t from);
void group_busy(struct network *network, struct group *group, int32_t link); /* a flow comes to a link */
void network_settle_groups(struct network *network, double now_s);
void network_free_groups(struct network *network);
void path_remove(struct network *network, uint32_t flow);

/* event_hold.c. A link holds a flow from now on, or lets a path go. hold_count() brings its shares up to date: it must
 * follow before another link lets go. The least end of what it holds, infinity if that is nothing. All that is due ends. */
bool hold(struct network *network, int32_t link, uint32_t flow, double now_s);
void hold_end(struct network *network, int32_t link, uint32_t flow, double now_s);
bool hold_count(struct network *network, int32_t link);
double hold_least(struct link *link);
bool hold_end_due(struct network *network, int32_t link, double now_s, double frac);

/* event_fill.c. Shares the links of a group, or all that the links that changed reach, and queues what ends next. */
void group_fill(struct network *network, struct group *group, double now_s);
void network_fill_changed(struct network *network, double now_s);

/* A link that nothing is left on is idle. */
static inline void network_leave(struct network *network, int32_t link)
{
    if (network->link[link].singles == 0 && (!network->bundle || network->bundle[link].crossings == 0))
        network->rider[link] = RIDER_NONE;
}
/* A flow comes to a link: whoever rides on it becomes a flow too. */
void network_seize(struct network *network, int32_t link, double now_s);

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
